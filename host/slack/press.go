package slack

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	sdk "github.com/slack-go/slack"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/people"
)

// payload is an interaction, as Slack describes it.
type payload struct {
	Type      string `json:"type"`
	TriggerID string `json:"trigger_id"`
	Team      struct {
		ID string `json:"id"`
	} `json:"team"`
	User struct {
		ID     string `json:"id"`
		TeamID string `json:"team_id"`
	} `json:"user"`
	Container struct {
		Channel string `json:"channel_id"`
		TS      string `json:"message_ts"`
	} `json:"container"`
	Actions []struct {
		ID    string `json:"action_id"`
		Value string `json:"value"`
	} `json:"actions"`
	View struct {
		CallbackID string `json:"callback_id"`
		Metadata   string `json:"private_metadata"`
		State      struct {
			Values map[string]map[string]entered `json:"values"`
		} `json:"state"`
	} `json:"view"`
}

// press is a decoded interaction: a button of a message, or the submission of a modal.
type press struct {
	target

	team, user string
	trigger    string // opens a modal, within 3 s
	at         message
	action     string // of a button; empty: a submission
	value      string // of the button, or the modal
	state      map[string]map[string]entered
}

var errPayload = errors.New("slack: the payload is no interaction")

// errOther reports an interaction that needs no reaction, such as the press of a link.
var errOther = errors.New("slack: the interaction has no effect")

// decode decodes an interaction.
func decode(raw []byte) (*press, error) {
	var in payload
	if err := json.Unmarshal(raw, &in); err != nil || in.User.ID == "" {
		return nil, errPayload
	}
	p := &press{team: in.User.TeamID, user: in.User.ID, trigger: in.TriggerID,
		at: message{in.Container.Channel, in.Container.TS}}
	if p.team == "" {
		p.team = in.Team.ID
	}
	var ok bool
	switch in.Type {
	case "block_actions":
		if len(in.Actions) != 1 {
			return nil, errPayload
		}
		p.action, p.value = in.Actions[0].ID, in.Actions[0].Value
		if p.action == actPage || p.action == "" {
			return nil, errOther
		}
		p.target, ok = parseValue(p.value)
	case "view_submission":
		if in.View.CallbackID != viewAnswer {
			return nil, errOther
		}
		p.state = in.View.State.Values
		parts := strings.SplitN(in.View.Metadata, " ", 3)
		if len(parts) != 3 {
			return nil, errPayload
		}
		p.at, p.value = message{parts[0], parts[1]}, parts[2]
		p.target, ok = parseValue(p.value)
	default:
		return nil, errOther
	}
	if !ok {
		return nil, errPayload
	}
	return p, nil
}

// result is the outcome of an interaction.
type result struct {
	text    string                // for the person who pressed; empty: nothing to say
	invalid bool                  // the entered values are invalid, as text says
	input   int                   // of the modal; the first invalid one
	view    *sdk.ModalViewRequest // to be opened
	rewrite bool                  // the message may show an earlier state
}

// response returns what Slack gets with the acknowledgement; nil: nothing.
func (r *result) response(p *press) any {
	switch {
	case p.action != "" || r.text == "":
		return nil
	case r.invalid:
		return sdk.NewErrorsViewSubmissionResponse(map[string]string{
			blockInput + strconv.Itoa(r.input): cut(r.text, maxHint)})
	}
	return dialog("Not sent", r.text)
}

// dialog replaces a modal by a text.
func dialog(title, text string) any {
	return sdk.NewUpdateViewSubmissionResponse(&sdk.ModalViewRequest{Type: sdk.VTModal, Title: plain(title),
		Close: plain("Close"), Blocks: sdk.Blocks{BlockSet: []sdk.Block{section(cut(text, maxSection))}}})
}

// apply decides an interaction. It makes no call to Slack.
func (a *App) apply(ctx context.Context, p *press) (r result) {
	defer func() {
		if fault := recover(); fault != nil {
			a.config.Logger.Error("slack: an interaction panicked", "panic", fault)
			r = result{text: front.FaultOf(errPayload).Text}
		}
	}()
	caller, q, err := a.identify(ctx, p)
	if err == nil {
		r, err = a.decide(ctx, caller, q, p)
	}
	if err != nil {
		return a.refusal(ctx, caller, q, p, err)
	}
	return r
}

// identify returns the person who pressed, and the question, which may be settled. If only
// another person, whose deputy they are, may answer, they act as the deputy.
func (a *App) identify(ctx context.Context, p *press) (*front.Caller, *lifecycle.Question, error) {
	actor, err := a.config.Person(ctx, p.team, p.user)
	switch {
	case errors.Is(err, people.ErrUnknown), err == nil && actor.ID == "":
		return nil, nil, front.Fault{Code: "NOT_ALLOWED", Text: "You are not known here."}
	case err != nil:
		a.config.Logger.Error("slack: Config.Person failed", "team", p.team, "user", p.user, "err", err)
		return nil, nil, front.Fault{Code: "UNAVAILABLE", Text: "It is not known who you are now. Try again later."}
	}
	if actor.Via == "" {
		actor.Via = "slack"
	}
	caller := front.For(a.config.Client, actor)
	record, err := caller.Client().Question(ctx, p.run, p.question)
	if err != nil {
		return caller, nil, err
	}
	with := caller.Client().WithPrincipals(ctx, actor)
	if by, ok := record.Question.Represents(with, a.config.Client.Now()); ok {
		caller = front.For(a.config.Client, by)
	}
	return caller, &record.Question, nil
}

// decide executes a press.
func (a *App) decide(ctx context.Context, caller *front.Caller, q *lifecycle.Question, p *press) (result, error) {
	answer := front.Answer{Exchange: "slack " + p.value, Question: q.ID, Seen: p.seen}
	option, isOption := strings.CutPrefix(p.action, actOption)
	switch {
	case p.action == actClaim:
		return result{rewrite: true}, caller.Client().Claim(ctx, p.run, q.ID, a.config.Client.Now().Add(a.config.Claim))
	case p.action == actRelease:
		return result{rewrite: true}, caller.Client().Release(ctx, p.run, q.ID)
	case !answerable(q):
		return result{}, lifecycle.ErrQuestionChanged
	case p.action == actForm:
		return a.open(ctx, caller, p)
	case p.action == actApprove:
		answer.Decision = lifecycle.Approve
	case p.action == actReject:
		answer.Decision = lifecycle.Reject
	case isOption:
		choices := q.Choices()
		n, err := strconv.Atoi(option)
		if err != nil || n < 0 || n >= len(choices) {
			return result{}, lifecycle.ErrQuestionChanged
		}
		answer.Text = choices[n].Value
		if (lifecycle.Reply{Text: answer.Text}).AcceptsRisk(*q) { // the modal names the risk
			return a.open(ctx, caller, p)
		}
	case p.action == "":
		var err error
		if answer, err = read(q, p); err != nil {
			return result{}, err
		}
	default:
		return result{}, lifecycle.ErrQuestionChanged
	}
	_, err := caller.Send(ctx, p.run, answer)
	return result{rewrite: true}, err
}

// read returns the answer that was entered in a modal.
func read(q *lifecycle.Question, p *press) (front.Answer, error) {
	m, ok := modalOf(q)
	if !ok || q.Digest() != p.seen {
		return front.Answer{}, lifecycle.ErrQuestionChanged
	}
	content, err := m.content(p.state)
	if err != nil {
		return front.Answer{}, lifecycle.ErrQuestionChanged
	}
	answer, err := m.form.Read(content)
	answer.Exchange = "slack " + p.value
	return answer, err
}

// inputOf returns the input of the first fault, or the first input.
func inputOf(q *lifecycle.Question, faults *lifecycle.ValueError) int {
	m, _ := modalOf(q)
	for _, f := range faults.Faults {
		name, _, _ := strings.Cut(strings.TrimPrefix(f.Pointer, "/"), "/")
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		if at := slices.IndexFunc(m.inputs, func(in input) bool { return in.name == name }); at >= 0 {
			return at
		}
	}
	return 0
}

// open returns the question's modal, if this person may answer now.
func (a *App) open(ctx context.Context, caller *front.Caller, p *press) (result, error) {
	v, err := caller.Load(ctx, p.run)
	if err != nil {
		return result{}, err
	}
	for i := range v.Asks {
		q := &v.Asks[i]
		if q.ID != p.question {
			continue
		}
		m, ok := modalOf(q)
		if q.Digest() != p.seen || !ok {
			return result{}, lifecycle.ErrQuestionChanged
		}
		view := m.view(q, p.at.channel+" "+p.at.ts+" "+p.value)
		return result{view: &view}, nil
	}
	for i := range v.Others { // the same errors as for a reply
		q := &v.Others[i]
		now := a.config.Client.Now()
		switch vote := q.VoteOf(caller.Actor()); {
		case q.ID != p.question:
		case !q.To.Admits(caller.Actor()):
			return result{}, &lifecycle.NotAskedError{ID: q.ID, To: *q.To}
		case vote != nil:
			return result{}, &lifecycle.VotedError{ID: q.ID, Vote: *vote}
		case q.Claim.Excludes(caller.Actor(), now):
			return result{}, &lifecycle.ClaimedError{ID: q.ID, Claim: *q.Claim}
		default:
			return result{}, lifecycle.ErrNotWaiting
		}
	}
	return result{}, lifecycle.ErrSettled
}

// refusal describes an error for the person who pressed. It has no text of a store.
func (a *App) refusal(ctx context.Context, caller *front.Caller, q *lifecycle.Question, p *press, err error) result {
	f := front.FaultOf(err)
	var refused *lifecycle.NotAllowedError
	if f.Code == "NOT_ALLOWED" && errors.As(err, &refused) && refused.Action == lifecycle.ActionView {
		f = front.FaultOf(lifecycle.ErrNotFound) // which does not reveal whether the run exists
	}
	if f.Unknown {
		a.config.Logger.Error("slack: an interaction failed", "run", p.run, "question", p.question, "err", err)
	}
	r := result{text: f.Text, invalid: f.Code == "INVALID_REPLY"}
	var faults *lifecycle.ValueError
	if errors.As(err, &faults) && q != nil {
		r.input = inputOf(q, faults)
	}
	switch f.Code {
	case "SETTLED", "KEY_CONFLICT", "NOT_WAITING", "RUN_TERMINAL":
		r.rewrite = true
		record, err := caller.Client().Question(ctx, p.run, p.question)
		if err == nil && record.Resolution != "" {
			r.text = "This question was already settled. " + settledText(&record)
		}
	case "QUESTION_CHANGED", "CLAIMED", "REASSIGNED":
		r.rewrite = true
	}
	return r
}

// finish makes the calls to Slack after a decision. late: Slack got the acknowledgement before
// the outcome was known, so a modal is closed already.
func (a *App) finish(ctx context.Context, p *press, r *result, late bool) {
	if r.view != nil {
		if _, err := a.api.OpenViewContext(ctx, p.trigger, *r.view); err != nil {
			a.config.Logger.Warn("slack: a modal could not be opened", "err", err)
			r.text = "The form could not be opened. Press again."
		}
	}
	if r.text != "" && (p.action != "" || late) && p.at.channel != "" {
		_, err := a.api.PostEphemeralContext(ctx, p.at.channel, p.user, sdk.MsgOptionDisableMarkdown(),
			sdk.MsgOptionParse(false), sdk.MsgOptionText(escape.Replace(cut(r.text, maxSection)), false))
		if err != nil {
			a.config.Logger.Warn("slack: a person could not be told the outcome", "err", err)
		}
	}
	if !r.rewrite {
		return
	}
	if _, err := a.show(ctx, p.run, p.question, p.at, false); err != nil {
		a.config.Logger.Warn("slack: a message was not rewritten; its event rewrites it", "err", err)
	}
}

const (
	// ackAfter is the longest time until an acknowledgement; Slack waits 3 s.
	ackAfter = 2 * time.Second
	// workTime limits an interaction.
	workTime = 30 * time.Second
	// maxTotal limits the concurrent interactions of all people.
	maxTotal = 256
)

var errBusy = errors.New("slack: too many interactions at once")

// handle executes an interaction and returns the content of the acknowledgement, after ackAfter
// at the latest. A later outcome is posted to the channel. The work continues if the caller's
// connection ends.
func (a *App) handle(ctx context.Context, p *press) (response any, _ error) {
	who := p.team + ":" + p.user
	if !a.enter(who) {
		return nil, errBusy
	}
	timer, stop := a.config.Clock.Timer(ackAfter)
	defer stop()
	decided, late := make(chan any), make(chan struct{})
	go func() {
		defer a.leave(who)
		defer func() { // Config.Page may panic
			if fault := recover(); fault != nil {
				a.config.Logger.Error("slack: a function of the host panicked", "panic", fault)
			}
		}()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTime)
		defer cancel()
		r := a.apply(ctx, p)
		select {
		case decided <- r.response(p):
			a.finish(ctx, p, &r, false)
		case <-late:
			a.finish(ctx, p, &r, true)
		}
	}()
	select {
	case response = <-decided:
	case <-timer:
		close(late)
		if p.action == "" {
			response = dialog("Being sent", "This takes longer than usual. If your answer does not count, you read so "+
				"in the channel.")
		}
	}
	return response, nil
}

func (a *App) enter(who string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.atOnce[who] >= MaxAtOnce || a.total >= maxTotal {
		return false
	}
	a.atOnce[who]++
	a.total++
	a.work.Add(1)
	return true
}

func (a *App) leave(who string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.total--
	if a.atOnce[who]--; a.atOnce[who] == 0 {
		delete(a.atOnce, who)
	}
	a.work.Done()
}
