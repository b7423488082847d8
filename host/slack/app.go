package slack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	sdk "github.com/slack-go/slack"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// App shows questions in Slack and receives the answers. It is safe for concurrent use.
type App struct {
	config Config
	api    *sdk.Client

	mu     sync.Mutex
	closed bool           // guarded by mu
	atOnce map[string]int // guarded by mu; the interactions of each user
	total  int            // guarded by mu
	work   sync.WaitGroup // the interactions; Add is called under mu
}

// New returns an App. It starts nothing.
func New(cfg Config) (*App, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return &App{config: cfg, atOnce: make(map[string]int), api: sdk.New(cfg.Token, sdk.OptionAPIURL(cfg.API),
		sdk.OptionAppLevelToken(cfg.AppToken), sdk.OptionHTTPClient(cfg.HTTP))}, nil
}

// Close refuses new interactions and waits for the running ones, at most about 30 s. Call it
// after the HTTP server has ended.
func (a *App) Close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.work.Wait()
}

// Endpoint returns the endpoint that keeps the messages up to date, for notify.Config.Endpoints. The
// name never changes; see notify.Endpoint.
func (a *App) Endpoint(name string) notify.Endpoint {
	return notify.Endpoint{Name: name, Sender: a, Filter: lifecycle.FeedFilter{Types: []string{
		lifecycle.TypeInputRequired, lifecycle.TypeReplyAccepted, lifecycle.TypeRecorded, lifecycle.TypeClosed,
		lifecycle.TypeAutoDecided, lifecycle.TypeDefaultTaken, lifecycle.TypeChanged, lifecycle.TypeReminder,
		lifecycle.TypeEscalated, lifecycle.TypeStateChanged}}}
}

// Send implements notify.Sender: it shows the current state of the question that the event is about.
func (a *App) Send(ctx context.Context, n notify.Notice) error {
	e := &n.Event
	if e.Terminal() {
		return a.sendEnd(ctx, e.RunID)
	}
	var about struct {
		Question int `json:"interaction_id"`
	}
	if err := e.Decode(&about); err != nil || about.Question == 0 {
		return nil //nolint:nilerr // the event is not about a question
	}
	open, err := a.show(ctx, e.RunID, about.Question, message{}, true)
	if err != nil || !open || e.Type != lifecycle.TypeReminder && e.Type != lifecycle.TypeEscalated {
		return classify(err)
	}
	return classify(a.remind(ctx, e, about.Question))
}

// sendEnd rewrites the messages of a run that has ended, and then forgets where they were posted:
// no later event follows.
func (a *App) sendEnd(ctx context.Context, run string) error {
	all, err := a.config.Messages.Of(ctx, run, 0)
	if err != nil {
		return err
	}
	shown := make(map[int]bool)
	for _, m := range all {
		if shown[m.Question] {
			continue
		}
		shown[m.Question] = true
		if _, err := a.show(ctx, run, m.Question, message{}, false); err != nil {
			return classify(err)
		}
	}
	return a.config.Messages.Forget(ctx, run)
}

// message identifies a message in Slack.
type message struct{ channel, ts string }

// maxRewrites limits how often show rewrites the messages of a question that keeps changing. The
// next event shows the remaining changes.
const maxRewrites = 5

// show rewrites the question's messages to its current state. It rewrites the message pressed in
// any case, known or not; the zero message: none. With post, it also posts an open question where
// the message is missing. Only the notifier sets post, since it handles one event of a run at a
// time. show reports whether the question is open.
//
// Several processes may do this at once. The last writer may have read an older state, and another
// process may be the last to save its Message.Shown. So each process reads the question again after
// a write, and repeats until its own last write shows the current state, whatever Message.Shown
// says. Then the last write of all processes shows the current state.
func (a *App) show(ctx context.Context, run string, question int, pressed message, post bool) (
	open bool, _ error,
) {
	wrote := make(map[message]string)
	if pressed.channel != "" && pressed.ts != "" {
		wrote[pressed] = "" // it may show any state
	}
	for range maxRewrites {
		record, err := a.config.Client.Question(ctx, run, question)
		if errors.Is(err, lifecycle.ErrNotFound) { // pruned; its messages stay as they are
			return false, nil
		}
		if err != nil {
			return false, err
		}
		open = record.Resolution == ""
		current, err := a.showRecord(ctx, run, &record, post, wrote)
		if err != nil || current {
			return open, err
		}
	}
	return open, nil
}

// showRecord shows one state of the question. wrote has the seal of the last card that this call of
// show has written to each message, and is updated. showRecord reports whether all messages already
// showed this state.
func (a *App) showRecord(ctx context.Context, run string, r *lifecycle.Record, post bool,
	wrote map[message]string) (current bool, _ error,
) {
	q := &r.Question
	known, err := a.config.Messages.Of(ctx, run, q.ID)
	if err != nil {
		return false, err
	}
	var places []string
	if r.Resolution == "" {
		if places, err = a.places(ctx, run, q); err != nil {
			return false, err
		}
	}
	var failed []error
	current = true
	others := maps.Clone(wrote)
	for i := range known {
		m := &known[i]
		if m.TS == "" && post && !slices.Contains(places, m.Place) { // settled after an interrupted posting
			if m.Channel, m.TS, err = a.find(ctx, m.Place, valueOf(run, q)); err != nil {
				failed = append(failed, err)
			}
		}
		if m.TS == "" {
			continue
		}
		at := message{m.Channel, m.TS}
		delete(others, at)
		c := a.cardOf(run, r, slices.Contains(places, m.Place))
		if last, ok := wrote[at]; m.Shown == c.seal && (!ok || last == c.seal) {
			continue
		}
		current = false
		wrote[at] = c.seal
		m.Shown = "" // unknown if the process ends during the write
		err := a.config.Messages.Save(ctx, *m)
		if err == nil {
			err = a.rewrite(ctx, at, &c)
		}
		if err == nil {
			m.Shown = c.seal
			err = a.config.Messages.Save(ctx, *m)
		}
		failed = append(failed, err)
	}
	for at, last := range others { // a second copy of the message, or the run has ended
		if c := a.cardOf(run, r, true); c.seal != last {
			current = false
			wrote[at] = c.seal
			failed = append(failed, a.rewrite(ctx, at, &c))
		}
	}
	if !post || q.Hidden(a.config.Client.Now()) {
		return current, errors.Join(failed...)
	}
	if r.Resolution == "" && len(places) == 0 && len(known) == 0 {
		a.config.Logger.Info("slack: a question is posted nowhere, because Config.Places returned no place", "run", run,
			"question", q.ID)
	}
	for _, place := range places {
		at := slices.IndexFunc(known, func(m Message) bool { return m.Place == place })
		if at >= 0 && known[at].TS != "" {
			continue
		}
		current = false
		m, err := a.post(ctx, run, r, place, at >= 0)
		if m.TS != "" {
			wrote[message{m.Channel, m.TS}] = m.Shown
		}
		failed = append(failed, err)
	}
	return current, errors.Join(failed...)
}

// places returns the places at which the host wants the open question.
func (a *App) places(ctx context.Context, run string, q *lifecycle.Question) (all []string, _ error) {
	r, err := a.config.Client.Get(ctx, run)
	if err != nil {
		return nil, err
	}
	err = front.Guard(func() (err error) {
		all, err = a.config.Places(ctx, &r, q)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("slack: Config.Places: %w", err)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), MaxPlaces)], nil
}

// options returns the content of a message with this card.
func (c *card) options() sdk.MsgOption {
	return sdk.MsgOptionCompose(sdk.MsgOptionText(c.text, false), sdk.MsgOptionBlocks(c.blocks...),
		sdk.MsgOptionDisableLinkUnfurl(), sdk.MsgOptionDisableMediaUnfurl(), sdk.MsgOptionDisableMarkdown(),
		sdk.MsgOptionParse(false))
}

// post posts an open question, and stores its place before and after. If the process ends in
// between, the next call finds the message by its metadata, or posts it twice. A second copy is
// harmless: the buttons of both copies belong to the same question.
func (a *App) post(ctx context.Context, run string, r *lifecycle.Record, place string, begun bool) (
	m Message, err error,
) {
	m = Message{Run: run, Question: r.Question.ID, Place: place}
	key := valueOf(run, &r.Question)
	if begun {
		m.Channel, m.TS, err = a.find(ctx, place, key)
	} else {
		err = a.config.Messages.Add(ctx, m)
	}
	if err != nil {
		return m, err
	}
	if m.TS == "" {
		c := a.cardOf(run, r, true)
		m.Channel, m.TS, err = a.api.PostMessageContext(ctx, place, c.options(),
			sdk.MsgOptionMetadata(sdk.SlackMetadata{EventType: metadataType, EventPayload: map[string]any{"key": key}}))
		if err != nil {
			return m, fmt.Errorf("slack: posting to %s: %w", place, err)
		}
		m.Shown = c.seal
	}
	return m, a.config.Messages.Save(ctx, m)
}

// metadataType marks the messages of this package.
const metadataType = "interlude_question"

// find returns the message with this key that was posted before; empty if it finds none, or if Slack
// refuses to list the messages. Without an answer of Slack it returns an error: the next attempt
// looks again.
func (a *App) find(ctx context.Context, place, key string) (channel, ts string, _ error) {
	history, err := a.api.GetConversationHistoryContext(ctx, &sdk.GetConversationHistoryParameters{ChannelID: place,
		Limit: 100, IncludeAllMetadata: true})
	if err != nil && codeOf(err) == "" {
		return "", "", fmt.Errorf("slack: looking for a message in %s: %w", place, err)
	}
	if err != nil {
		a.config.Logger.Info("slack: cannot look for a message; it may be posted twice", "place", place, "err", err)
		return "", "", nil
	}
	for _, m := range history.Messages {
		if m.Metadata.EventType == metadataType && m.Metadata.EventPayload["key"] == key {
			return place, m.Timestamp, nil
		}
	}
	return "", "", nil
}

// rewrite replaces the content of a message. A message that was deleted, or can no longer be edited,
// stays as it is.
func (a *App) rewrite(ctx context.Context, m message, c *card) error {
	_, _, _, err := a.api.UpdateMessageContext(ctx, m.channel, m.ts, c.options()) //nolint:dogsled // repeated arguments
	if err != nil && slices.Contains([]string{"message_not_found", "cant_update_message", "edit_window_closed",
		"channel_not_found", "is_archived"}, codeOf(err)) {
		a.config.Logger.Info("slack: a message cannot be rewritten", "channel", m.channel, "ts", m.ts, "err", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("slack: rewriting %s in %s: %w", m.ts, m.channel, err)
	}
	return nil
}

// remind writes reminders and escalations into the threads of an open question. It writes each
// event once, unless the process ends in between.
func (a *App) remind(ctx context.Context, e *lifecycle.Event, question int) error {
	all, err := a.config.Messages.Of(ctx, e.RunID, question)
	if err != nil {
		return err
	}
	text := "This question is still open."
	if e.Type == lifecycle.TypeEscalated {
		var escalated struct{ To *lifecycle.Audience }
		if err := e.Decode(&escalated); err != nil {
			return err
		}
		text = "This question was escalated, because it is still open. It is for " +
			interaction.Visible(escalated.To.String()) + " now."
	}
	var failed []error
	for _, m := range all {
		if m.TS == "" || m.Reminded >= e.Seq {
			continue
		}
		text := escape.Replace(cut(text, maxSection))
		if _, _, err := a.api.PostMessageContext(ctx, m.Channel, sdk.MsgOptionText(text, false),
			sdk.MsgOptionTS(m.TS), sdk.MsgOptionDisableMarkdown(), sdk.MsgOptionParse(false)); err != nil {
			failed = append(failed, fmt.Errorf("slack: reminder in %s: %w", m.Channel, err))
			continue
		}
		m.Reminded = e.Seq
		failed = append(failed, a.config.Messages.Save(ctx, m))
	}
	return errors.Join(failed...)
}

// codeOf returns Slack's code of an error; empty for any other.
func codeOf(err error) string {
	var refused sdk.SlackErrorResponse
	if errors.As(err, &refused) {
		return refused.Err
	}
	return ""
}

// permanent lists the codes of errors that a retry cannot repair.
var permanent = []string{"channel_not_found", "is_archived", "user_not_found", "cannot_dm_bot", "restricted_action",
	"invalid_blocks", "invalid_blocks_format", "invalid_arguments", "msg_too_long", "msg_blocks_too_long"}

// classify combines the errors of several places for the notifier: when to retry, or never if no
// place can succeed.
func classify(err error) error {
	if err == nil {
		return nil
	}
	var limited *sdk.RateLimitedError
	if errors.As(err, &limited) {
		return &notify.AfterError{Pause: limited.RetryAfter, Err: err}
	}
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // joined by show
		all = joined.Unwrap()
	}
	if slices.ContainsFunc(all, func(one error) bool { return !slices.Contains(permanent, codeOf(one)) }) {
		return err
	}
	return notify.Permanent(err)
}
