package slack_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/front/fronttest"
	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/host/slack"
	"github.com/interlude-go/interlude/host/slack/slacktest"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/people"
)

// P3: a claim reserves the question; other people read who has claimed it.
func TestP3AClaim(t *testing.T) {
	d := newDesk(t, []engine.Question{refund}, nil)
	m := d.ask("r1", lifecycle.Spec{})[0]
	d.press("ada", m, "claim")
	d.shows(m, "ada works on it until ")
	for _, action := range []string{"approve", "form", "claim", "release"} {
		d.press("bob", m, action)
	}
	d.await(func() bool { return len(d.slack.Said("bob")) == 4 })
	for _, said := range d.slack.Said("bob") {
		require.Contains(t, said, "ada")
	}
	d.press("ada", m, "release")
	d.await(func() bool { return !contains(d.message(m), "works on it") })
	d.press("bob", m, "approve")
	d.shows(m, "Approved by bob")
}

// P4: reminders and escalations appear in the thread, each once, and the message shows the new audience.
func TestP4RemindersAreInTheThread(t *testing.T) {
	d := newDesk(t, []engine.Question{refund}, nil)
	bob := &lifecycle.Audience{Users: []string{"bob"}}
	m := d.ask("r1", lifecycle.Spec{Ask: &lifecycle.AskPolicy{To: &lifecycle.Audience{Users: []string{"ada"}},
		Wait: &lifecycle.Wait{Steps: []lifecycle.WaitStep{{Do: lifecycle.Remind, After: time.Second},
			{Do: lifecycle.Escalate, After: 2 * time.Second, To: bob}}}}})[0]
	thread := func() (texts []string) {
		for _, o := range d.slack.Messages() {
			if o.Thread == m.TS && o.Channel == m.Channel {
				texts = append(texts, o.Text)
			}
		}
		return texts
	}
	d.await(func() bool { return len(thread()) == 2 })
	require.Equal(t, []string{"This question is still open.",
		"This question was escalated, because it is still open. It is for bob now."}, thread())
	d.shows(m, "For bob")
	// The notifier shows the claim after it has stored the outcome of the earlier notices.
	require.NoError(t, d.host.As(lifecycle.Actor{ID: "bob"}).Claim(t.Context(), "r1", 1, time.Now().Add(time.Hour)))
	d.shows(m, "bob works on it")
	for event, err := range d.host.Events(t.Context(), "r1", 0) { // the notices are delivered again
		require.NoError(t, err)
		require.NoError(t, d.app.Send(t.Context(), notify.Notice{Event: event}))
		if event.Type == lifecycle.TypeEscalated {
			break
		}
	}
	require.Len(t, thread(), 2)
	require.Len(t, d.slack.Questions(), 1)
	d.press("bob", m, "reject")
	d.shows(m, "Rejected by bob")
}

// P4: votes are counted in the message, and each person votes once.
func TestP4Votes(t *testing.T) {
	d := newDesk(t, []engine.Question{refund}, nil)
	m := d.ask("r1", lifecycle.Spec{Ask: &lifecycle.AskPolicy{Need: 2}})[0]
	require.Contains(t, m.Shown(), "0 of 2 have approved")
	require.NotContains(t, m.Buttons(), "claim")
	d.press("ada", m, "approve")
	d.shows(m, "1 of 2 have approved")
	d.press("ada", m, "reject")
	d.hears("ada", "already voted")
	d.press("bob", m, "approve")
	d.shows(m, "Approved by ada, bob")
}

// P4: a question goes to the direct messages of its audience and, after a reassignment, of its
// new audience.
func TestP4DirectMessagesByTheDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "people.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `people:
  - {id: ada, groups: [finance], addresses: {slack: "%[1]s:UADA"}}
  - {id: bob, groups: [finance], addresses: {slack: "%[1]s:UBOB"}}
  - {id: carl, addresses: {slack: "%[1]s:UCARL"}, deputies: [{id: bob}]}
  - {id: dora, groups: [finance]}
  - {id: erin, addresses: {slack: "%[1]s:UTWIN"}}
  - {id: frank, addresses: {slack: "%[1]s:UTWIN"}}
`, slacktest.Team), 0o600))
	all, err := people.Open(file, nil)
	require.NoError(t, err)
	d := newDeskOf(t, all, []engine.Question{refund}, func(c *slack.Config) {
		c.Person, c.Places = slack.Directory{Directory: all}.Who, slack.Directory{Directory: all}.Audience
	})
	_, err = d.host.Submit(t.Context(), lifecycle.Spec{ID: "r1", Prompt: "Go.", Ask: finance})
	require.NoError(t, err)
	d.await(func() bool { return len(d.slack.Questions()) == 2 })
	sent := d.slack.Questions()
	require.Equal(t, []string{"DADA", "DBOB"}, []string{sent[0].Channel, sent[1].Channel})
	require.NoError(t, d.host.As(lifecycle.Actor{ID: "ada", Groups: []string{"finance"}}).Reassign(t.Context(), "r1", 1,
		finance.To, lifecycle.Audience{Users: []string{"carl"}}))
	d.await(func() bool { return len(d.slack.Questions()) == 3 })
	d.shows(sent[0], "The question was reassigned. It is for carl now.")
	d.shows(sent[1], "For carl") // bob is his deputy
	require.Empty(t, d.message(sent[0]).Buttons())
	for _, person := range []string{"twin", "dora", "eve"} {
		_, err = d.slack.PressValue(person, sent[0], "approve", sent[0].Button("approve").Value)
		require.NoError(t, err)
	}
	d.hears("twin", "not known who you are")
	d.hears("dora", "You are not known here.")
	d.hears("eve", "You are not known here.")
	require.Equal(t, "DCARL", d.slack.Questions()[2].Channel)
	_, err = d.slack.PressValue("ada", sent[0], "approve", sent[0].Button("approve").Value)
	require.NoError(t, err)
	d.hears("ada", "for others: carl")
	// bob, carl's deputy, presses the button of an earlier message.
	_, err = d.slack.PressValue("bob", sent[1], "approve", sent[1].Button("approve").Value)
	require.NoError(t, err)
	for _, m := range d.slack.Questions() {
		d.shows(m, "Approved by bob for carl (slack)")
	}
	record := d.record("r1", 1)
	require.Equal(t, "carl", record.For())
}

// N10: a deputy receives the message in the time that the directory says, also for a person without a
// Slack address, and decides with it. The submitter's deputy does not.
func TestN10ADeputyGetsTheDirectMessage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "people.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `people:
  - {id: ada, groups: [finance], addresses: {slack: "%[1]s:UADA"}, deputies: [{id: erin}]}
  - {id: carl, addresses: {slack: "%[1]s:UCARL"}}
  - {id: dora, groups: [finance], deputies: [{id: carl, until: 2026-12-14}, {id: gone}, {id: erin, from: 2026-12-20}]}
  - {id: erin, addresses: {slack: "%[1]s:UERIN"}}
`, slacktest.Team), 0o600))
	all, err := people.Open(file, nil)
	require.NoError(t, err)
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	known := slack.Directory{Directory: all, Now: func() time.Time { return now }}
	to := &lifecycle.Question{To: &lifecycle.Audience{Groups: []string{"finance"}, Except: []string{"ada"}}}
	for day, want := range map[int][]string{1: {"UCARL"}, 16: nil, 25: {"UERIN"}} {
		now = time.Date(2026, 12, day, 12, 0, 0, 0, time.UTC)
		places, err := known.Audience(t.Context(), nil, to)
		require.NoError(t, err)
		require.Equal(t, want, places, "December %d", day)
	}
	now = time.Now() // as of the host
	d := newDeskOf(t, annsDeputy{}, []engine.Question{refund}, func(c *slack.Config) {
		c.Person, c.Places = known.Who, known.Audience
	})
	_, err = d.host.Submit(t.Context(), lifecycle.Spec{ID: "r1", Prompt: "Go.", Ask: &lifecycle.AskPolicy{
		To: &lifecycle.Audience{Users: []string{"ada"}}}})
	require.NoError(t, err)
	d.await(func() bool { return len(d.slack.Questions()) == 2 })
	sent := d.slack.Questions()
	require.Equal(t, []string{"DADA", "DERIN"}, []string{sent[0].Channel, sent[1].Channel})
	d.press("erin", sent[1], "approve")
	d.shows(sent[0], "Approved by erin for ada (slack)")
	record := d.record("r1", 1)
	require.Equal(t, "ada", record.For())
}

// annsDeputy makes erin the deputy of ada for the host.
type annsDeputy struct{}

func (annsDeputy) Principals(_ context.Context, id string, _ time.Time) ([]lifecycle.Principal, error) {
	if id != "erin" {
		return nil, nil
	}
	return []lifecycle.Principal{{ID: "ada"}}, nil
}

// P4: the interactions arrive over Socket Mode, also after Slack has asked for a new connection.
func TestP4SocketMode(t *testing.T) {
	d := &desk{TB: t, slack: slacktest.New(t), dir: t.TempDir(), asks: []engine.Question{
		{Kind: engine.OpenText, Prompt: "Which order?"}}, socket: true,
		change: func(c *slack.Config) { c.SigningSecret = "" }}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d.ctx = ctx
	d.start()
	defer func() { d.stop() }()
	for i := range 2 {
		run := fmt.Sprintf("r%d", i+1)
		m := d.ask(run, lifecycle.Spec{})[0]
		d.press("ada", m, "form")
		d.modal("ada")
		r, err := d.slack.Submit("ada", map[string]string{"Your answer": " "})
		require.NoError(t, err)
		require.Contains(t, r.Errors()["input-0"], "missing")
		_, err = d.slack.Submit("ada", map[string]string{"Your answer": "A-17"})
		require.NoError(t, err)
		d.shows(m, "Answered by ada (slack)")
		d.slack.Drop()
		<-d.slack.Connected()
	}
	body, err := slacktest.Encode(map[string]any{})
	require.NoError(t, err)
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(string(body)))
	r.Header = slacktest.Sign("", time.Now(), body)
	d.app.ServeHTTP(w, r)
	require.Equal(t, http.StatusUnauthorized, w.Code, "without a secret no request is served")
}

// P4: a press that was received is acknowledged, though the host ends before the outcome is known.
func TestP4APressIsAcknowledgedWhenTheHostEnds(t *testing.T) {
	received, resume := make(chan struct{}), make(chan struct{})
	d := newDesk(t, []engine.Question{refund}, func(c *slack.Config) {
		c.Person = func(ctx context.Context, team, user string) (lifecycle.Actor, error) {
			close(received)
			<-resume
			return who(ctx, team, user)
		}
	})
	m := d.ask("r1", lifecycle.Spec{})[0]
	ctx, end := context.WithCancel(d.ctx)
	ended, pressed := make(chan error, 1), make(chan error, 1)
	go func() { ended <- d.app.ServeSocket(ctx) }()
	<-d.slack.Connected()
	go func() {
		_, err := d.slack.Press("ada", m, "approve")
		pressed <- err
	}()
	<-received
	end()
	close(resume)
	require.NoError(t, <-pressed)
	require.NoError(t, <-ended)
	d.shows(m, "Approved by ada (slack)")
}

// P4: a token that Slack refuses ends Socket Mode.
func TestP4SocketModeWithARefusedToken(t *testing.T) {
	d := newDesk(t, nil, func(c *slack.Config) { c.AppToken = "xapp-other" })
	require.ErrorContains(t, d.app.ServeSocket(t.Context()), "invalid_auth")
}

// P1: a rate limit delays a notice; a deleted message and a missing channel cause no retry.
func TestP1FaultsOfSlack(t *testing.T) {
	d := newDesk(t, []engine.Question{refund}, nil)
	m := d.ask("r1", lifecycle.Spec{})[0]
	fail := func(code string) { d.slack.Fail(func(string) (string, bool) { return code, false }) }
	notice := func(run string) notify.Notice {
		for event, err := range d.host.Events(t.Context(), run, 0) {
			require.NoError(t, err)
			if event.Type == lifecycle.TypeInputRequired {
				return notify.Notice{Event: event}
			}
		}
		return notify.Notice{}
	}
	require.NoError(t, d.host.As(lifecycle.Actor{ID: "ada"}).Claim(t.Context(), "r1", 1, time.Now().Add(time.Hour)))
	d.shows(m, "ada works on it")
	n := notice("r1")
	fail("ratelimited")
	require.NoError(t, d.host.As(lifecycle.Actor{ID: "ada"}).Release(t.Context(), "r1", 1))
	var after *notify.AfterError
	require.ErrorAs(t, d.app.Send(t.Context(), n), &after)
	require.Equal(t, 30*time.Second, after.Pause)
	fail("message_not_found")
	require.NoError(t, d.app.Send(t.Context(), n))
	fail("")
	require.NoError(t, d.app.Send(t.Context(), n))
	require.Len(t, d.slack.Questions(), 1)
	fail("channel_not_found")
	_, err := d.host.Submit(t.Context(), lifecycle.Spec{ID: "r2", Prompt: "Go."})
	require.NoError(t, err)
	require.ErrorIs(t, d.app.Send(t.Context(), notice("r2")), notify.ErrPermanent)
}

// P5: the interactions of one person and the size of a body are limited.
func TestP5Bounds(t *testing.T) {
	d := newDesk(t, []engine.Question{refund}, func(c *slack.Config) { c.Clock = &ready{} })
	m := d.ask("r1", lifecycle.Spec{})[0]
	slow := make(chan struct{})
	d.store.slow.Store(&slow)
	for range slack.MaxAtOnce {
		d.press("ada", m, "approve")
	}
	r, err := d.slack.Press("ada", m, "approve")
	require.NoError(t, err)
	require.Equal(t, http.StatusTooManyRequests, r.Status)
	d.press("bob", m, "approve")
	d.store.slow.Store(nil)
	close(slow)
	d.await(func() bool { return contains(d.message(m), "Approved by") })
	body := []byte("payload=" + strings.Repeat("a", slack.MaxBody))
	r, err = slacktest.Send(d.address, slacktest.Sign(slacktest.Secret, time.Now(), body), body)
	require.NoError(t, err)
	require.Equal(t, http.StatusRequestEntityTooLarge, r.Status)
}

// P2: texts for people contain no text of a store, and a failed answer can be sent again.
func TestP2ErrorsHaveNoTextOfTheStore(t *testing.T) {
	d := newDesk(t, []engine.Question{refund}, nil)
	m := d.ask("r1", lifecycle.Spec{})[0]
	d.store.fails.Store(true)
	d.press("ada", m, "claim")
	d.await(func() bool { return len(d.slack.Said("ada")) == 1 })
	require.NotContains(t, d.slack.Said("ada")[0], "secret")
	d.store.fails.Store(false)
	d.press("ada", m, "approve")
	d.shows(m, "Approved by ada")
}

// byPress drives the front end as people do in Slack; the notices are sent by the test.
type byPress struct {
	fronttest.Config

	slack *slacktest.Slack
	app   *slack.App
}

func (b byPress) Start(ctx context.Context, person, prompt string) (string, error) {
	s := b.Spec(person, prompt)
	s.ID = fmt.Sprintf("run-%d", len(b.slack.Messages())+b.slack.Calls("chat.update")+int(time.Now().UnixNano()%1e9))
	run, err := b.Client.Submit(ctx, s)
	return run.ID, err
}

// deliver sends the notices of all events so far, including notices sent before.
func (b byPress) deliver(ctx context.Context, run string) (ended bool, _ error) {
	r, err := b.Client.Get(ctx, run)
	if err != nil {
		return false, err
	}
	for event, err := range b.Client.Events(ctx, run, 0) {
		if err != nil {
			return false, err
		}
		if err := b.app.Send(ctx, notify.Notice{Event: event}); err != nil {
			return false, err
		}
		if ended = event.Terminal(); ended || event.Seq >= r.Seq {
			break
		}
	}
	return ended, nil
}

// messages returns the messages about the run's questions.
func (b byPress) messages(run string) []slacktest.Message {
	return slices.DeleteFunc(b.slack.Questions(), func(m slacktest.Message) bool {
		return !strings.HasSuffix(m.Key, "."+run)
	})
}

// heard presses as the person, and returns the text that only this person sees; empty if a modal
// has opened.
func (b byPress) heard(ctx context.Context, person string, m slacktest.Message, action, value string) (string, error) {
	before, method := len(b.slack.Said(person)), "chat.update"
	if action == "form" {
		method = "views.open"
	}
	calls := b.slack.Calls(method)
	if _, err := b.slack.PressValue(person, m, action, value); err != nil {
		return "", err
	}
	err := b.slack.Await(ctx, func() bool {
		return len(b.slack.Said(person)) > before || b.slack.Calls(method) > calls
	})
	return strings.Join(b.slack.Said(person)[before:], ""), err
}

func (b byPress) See(ctx context.Context, person, run string) (fronttest.Seen, error) {
	s, err := b.seen(ctx, person, run)
	if err != nil || s.Ended || len(s.Questions) > 0 {
		return s, err
	}
	patience, stop := context.WithTimeout(ctx, 300*time.Millisecond)
	defer stop()
	if _, err := b.Client.Wait(patience, run); err != nil {
		return s, ctx.Err()
	}
	return b.seen(ctx, person, run)
}

// seen is See without waiting.
func (b byPress) seen(ctx context.Context, person, run string) (s fronttest.Seen, _ error) {
	ended, _ := b.deliver(ctx, run) // the press below detects a fault of the store
	for _, m := range b.messages(run) {
		s.Result += m.Shown()
		if !slices.Contains(m.Buttons(), "form") {
			if len(m.Buttons()) > 0 { // the options of a question with Only
				var n int
				_, _ = fmt.Sscanf(m.Key, "%d.", &n)
				s.Questions = append(s.Questions, n)
			}
			continue
		}
		text, err := b.heard(ctx, person, m, "form", m.Button("form").Value)
		switch {
		case err != nil:
			return s, err
		case strings.Contains(text, "for others"), strings.Contains(text, "works on"),
			strings.Contains(text, "already settled"): // settled during the press
			s.Status = text
		case text != "":
			return s, errors.New("slack says: " + text)
		default:
			var n int
			_, _ = fmt.Sscanf(m.Key, "%d.", &n)
			s.Questions = append(s.Questions, n)
		}
	}
	if len(b.messages(run)) == 0 { // Slack shows only questions, so this is like a press on a guessed run
		guessed := "1." + strings.Repeat("0", 64) + "." + run
		text, err := b.heard(ctx, person, slacktest.Message{Channel: "CDESK", TS: "1.1"}, "form", guessed)
		if err != nil {
			return s, err
		}
		r, err := b.Client.As(lifecycle.Actor{ID: person}).Get(ctx, run)
		if err != nil || !strings.Contains(text, "no such run or question") &&
			!strings.Contains(text, "already settled") { // settled before Slack showed the question
			return s, errors.New("slack says: " + text)
		}
		s.Result = r.FinalText
	}
	s.Ended = ended && len(s.Questions) == 0
	switch {
	case !s.Ended:
		s.Result = ""
		if len(s.Questions) > 0 {
			s.Status = ""
		} else if s.Status == "" {
			s.Status = "no question is open"
		}
	default:
		s.Status = ""
	}
	return s, nil
}

func (b byPress) Answer(ctx context.Context, person, run, _ string, a fronttest.Answer) error {
	_, _ = b.deliver(ctx, run) // as above
	m := slacktest.Message{Channel: "CDESK", TS: "1.1"}
	value := fmt.Sprintf("%d.%s.%s", a.Question, strings.Repeat("0", 64), run)
	for _, known := range b.messages(run) {
		if strings.HasPrefix(known.Key, fmt.Sprintf("%d.", a.Question)) {
			m, value = known, known.Key // also for a settled question
		}
	}
	if a.Decision != "" {
		text, err := b.heard(ctx, person, m, string(a.Decision), value)
		if err == nil && text != "" {
			err = fmt.Errorf("slack says: %s", text)
		}
		return err
	}
	entered := map[string]any{"type": "plain_text_input", "value": a.Text}
	state := map[string]map[string]any{"input-0": {"value": entered}}
	view := fmt.Appendf(nil, `{"callback_id":"answer","private_metadata":"%s %s %s"}`, m.Channel, m.TS, value)
	body, err := slacktest.Encode(slacktest.Submission(person, view, state))
	if err != nil {
		return err
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(string(body)))
	r.Header = slacktest.Sign(slacktest.Secret, time.Now(), body)
	b.app.ServeHTTP(w, r)
	res := slacktest.Response{Status: w.Code, Body: w.Body.Bytes()}
	if text := res.Updated() + res.Errors()["input-0"]; text != "" || w.Code != http.StatusOK {
		return fmt.Errorf("slack says: %d %s", w.Code, text)
	}
	return nil
}

// Dismiss closes the modal. Slack does not report that to the app.
func (b byPress) Dismiss(ctx context.Context, person, run string, _ int) error {
	_, err := b.See(ctx, person, run)
	return err
}

// P2, P3, N1, N10: Slack passes the table of traps of front ends.
func TestP2SlackPassesTheTraps(t *testing.T) {
	fronttest.Run(t, func(tb testing.TB, c fronttest.Config) fronttest.FrontEnd {
		tb.Helper()
		s := slacktest.New(tb)
		app, err := slack.New(slack.Config{Client: c.Client, Token: slacktest.Token, SigningSecret: slacktest.Secret,
			Messages: new(slack.Memory), API: s.URL, Logger: slog.New(slog.DiscardHandler),
			Person: func(_ context.Context, _, user string) (lifecycle.Actor, error) {
				return lifecycle.Actor{ID: strings.ToLower(user[1:])}, nil
			},
			Places: slack.Channel("CDESK")})
		require.NoError(tb, err)
		server := httptest.NewServer(app)
		tb.Cleanup(app.Close)
		tb.Cleanup(server.Close)
		s.Deliver(server.URL)
		return byPress{c, s, app}
	})
}
