package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// addTransitionEvents makes a transition's events from its effects and the record after it, in the
// contract's order.
func addTransitionEvents(c *store.Commit, listed []fsm.Emission, e *effects) error {
	c.Events = slices.Grow(c.Events, len(listed)+len(e.turn.warnings))
	for _, emission := range listed {
		if err := e.addEventsOfType(c, emission.Type); err != nil {
			return err
		}
	}
	return nil
}

// addEventsOfType adds no, one or several events.
func (e *effects) addEventsOfType(c *store.Commit, kind string) error {
	switch kind {
	case fcmp.TypeStarted:
		return addEvent(c, started(&c.Run))
	case fcmp.TypeStateChanged:
		return addEvent(c, e.stateChanged(&c.Run))
	case fcmp.TypeReplyAccepted:
		return addEvent(c, replyAccepted(&e.settles))
	case fcmp.TypeAutoDecided:
		return e.addAutoDecided(c)
	case fcmp.TypeInputRequired:
		return addInputRequired(c)
	case fcmp.TypeRecorded:
		return addEvent(c, e.recorded())
	case fcmp.TypeClosed:
		return addClosed(c)
	case fcmp.TypeDefaultTaken:
		return addEvent(c, defaultTaken(&e.settles.records[0].Question, &e.settles.answers[0]))
	case fcmp.TypeReminder:
		return e.addStep(c, interaction.Remind)
	case fcmp.TypeEscalated:
		return e.addStep(c, interaction.Escalate)
	case fcmp.TypeChanged:
		return addEvent(c, e.questionChanged())
	case fcmp.TypeNoted:
		return addEvent(c, noted(e.edits.question))
	case fcmp.TypeYielded:
		return addEvent(c, yielded(&c.Run))
	case fcmp.TypeBlocked:
		return addEvent(c, blocked(&c.Run))
	case fcmp.TypeUnblocked:
		return addEvent(c, &fcmp.Unblocked{Cause: e.hold.endCause, Actor: e.hold.by.ID, Via: e.hold.by.Via})
	case fcmp.TypeMessageFinal:
		if f := e.turn.final; f != nil {
			return addEvent(c, &fcmp.MessageFinal{Text: f.text, Truncated: f.truncated, RawRef: (*fcmp.RawRef)(f.ref)})
		}
		return nil
	case fcmp.TypeWarning:
		for _, w := range e.turn.warnings {
			if err := addEvent(c, warning(w)); err != nil {
				return err
			}
		}
		return nil
	}
	panic("lifecycle: the contract lists an event of type " + kind + ", which is not known here")
}

type marker struct{}

func (marker) Mark(body []byte, incarnation uint64) []byte { return fcmp.Mark(body, incarnation) }

// addEvent encodes one event, with the run's next sequence numbers.
func addEvent(c *store.Commit, p fcmp.Payload) error {
	c.Run.Seq++
	c.Run.LocalSeq++
	h := fcmp.Header{
		RunID: c.Run.ID, Seq: c.Run.Seq, TS: c.Run.UpdatedAt, Engine: c.Run.Engine, Attempt: c.Run.Attempt,
		LocalSeq: c.Run.LocalSeq,
	}
	c.Marker = marker{}
	err := c.AddEvent(h.Seq, func(to []byte) ([]byte, error) { return fcmp.Append(to, h, p) })
	if err != nil {
		return fmt.Errorf("lifecycle: event %d of run %s: %w", c.Run.Seq, c.Run.ID, err)
	}
	return nil
}

func started(r *store.Run) *fcmp.Started {
	s := &fcmp.Started{
		Mode: string(r.Mode), InteractiveRequireUserReply: r.Strict, SessionTimeoutSec: seconds(r.SessionTimeout),
		MaxAttempt: max(r.MaxAttempts, 0), MaxAutoDecisions: r.MaxAutoDecisions, Pool: r.Pool, Parent: r.Parent(),
		ContractVersion: r.Contract,
	}
	if p := r.ForkedFrom; p != nil {
		s.ForkedFrom, s.AsksAgain = &fcmp.ForkedFrom{RunID: p.RunID, InteractionID: p.Question}, p.AsksAgain
	}
	return s
}

func (e *effects) stateChanged(r *store.Run) *fcmp.StateChanged {
	change := &fcmp.StateChanged{
		From: string(e.from), To: string(r.State), Trigger: string(e.event), UpdatedAt: r.UpdatedAt,
	}
	if len(r.Open) > 0 {
		change.PendingInteractionID = r.Open[0].ID
	}
	if r.State.Terminal() {
		change.Terminal = &fcmp.Terminal{Status: string(r.State), Warnings: make([]string, len(r.Warnings))}
		for i, code := range r.Warnings {
			change.Terminal.Warnings[i] = string(code)
		}
		if r.Error != nil {
			change.Terminal.Error = &fcmp.Failure{Code: string(r.Error.Code), Message: r.Error.Message}
		}
	}
	return change
}

func replyAccepted(s *settlement) *fcmp.ReplyAccepted {
	a := &s.answers[0]
	return &fcmp.ReplyAccepted{
		InteractionID: a.ID, ResolutionMode: string(a.Resolution), AcceptedAt: a.AcceptedAt, Actor: a.Actor,
		Decision: string(a.Decision), Digest: a.Digest, Via: a.Via, For: a.For, Remember: remember(s.remembers),
	}
}

func autoDecided(a *interaction.Answer, r *store.Run) *fcmp.AutoDecided {
	return &fcmp.AutoDecided{
		InteractionID: a.ID, ResolutionMode: string(a.Resolution), Policy: string(a.Auto.Policy),
		AcceptedAt: a.AcceptedAt, TimeoutSec: seconds(r.SessionTimeout),
	}
}

func (e *effects) addAutoDecided(c *store.Commit) error {
	for i := range e.settles.answers {
		decided := autoDecided(&e.settles.answers[i], &c.Run)
		if q := &e.settles.records[i].Question; q.Wait != nil {
			decided.TimeoutSec = secondsOpen(q)
		}
		if err := addEvent(c, decided); err != nil {
			return err
		}
	}
	return nil
}

// addClosed adds an event for each question that the commit closes without an answer.
func addClosed(c *store.Commit) error {
	for i := range c.Settled {
		r := &c.Settled[i]
		if r.Resolution != interaction.Superseded {
			continue
		}
		err := addEvent(c, &fcmp.Closed{InteractionID: r.Question.ID, ResolutionMode: string(r.Resolution),
			ClosedAt: r.ResolvedAt})
		if err != nil {
			return err
		}
	}
	return nil
}

func addInputRequired(c *store.Commit) error {
	for i := range c.Run.Open {
		if err := addEvent(c, inputRequired(&c.Run, &c.Run.Open[i])); err != nil {
			return err
		}
	}
	return nil
}

func inputRequired(r *store.Run, q *interaction.Question) *fcmp.InputRequired {
	rule, _ := fsm.Wait(r.Profile, r.Strict)
	asked := &fcmp.InputRequired{
		InteractionID: q.ID, Kind: string(q.Kind), Prompt: q.Prompt, RequiredFields: q.RequiredFields,
		UIHints: q.UIHints, Context: q.Context, DefaultDecisionPolicy: string(q.DefaultPolicy), AskedAt: q.AskedAt,
		Profile: string(r.Profile), OnDeadline: string(rule.OnDeadline), WaitDeadlineAt: r.Deadline,
	}
	for _, o := range q.Options {
		asked.Options = append(asked.Options, fcmp.Option{Label: o.Label, Value: o.Value})
	}
	if choices, yes := q.Choices(), q.YesOption(); q.HasSelection() && yes >= 0 {
		asked.YesValue = choices[yes].Value
	}
	asked.Only = q.Only
	if s := q.Subject; s != nil {
		asked.Subject = &fcmp.Subject{Tool: s.Tool, Arguments: string(s.Arguments), Title: s.Title, Risk: s.Risk}
		asked.Summary = s.Summary
		for _, c := range s.Changes {
			asked.Changes = append(asked.Changes, fcmp.TextChange{Path: c.Path, Kind: string(c.Kind), Before: c.Before,
				After: c.After})
		}
	}
	if len(q.Schema) > 0 || q.Subject != nil {
		asked.Schema, asked.AlsoText, asked.Digest = string(q.Schema), q.AlsoText, q.Digest()
	}
	if to := q.To; to != nil {
		asked.To = audience(to)
	}
	if q.DecidedBySeveral() {
		asked.Need, asked.Rejects = max(int(q.Need), 1), max(int(q.Rejects), 1)
	}
	if q.Wait != nil {
		addOwnWait(asked, q)
	}
	asked.PolicyUntil = q.HiddenUntil()
	if t := r.Together; t != nil {
		asked.Together = &fcmp.Together{Questions: t.Asked, Answers: t.Rule.Needs(t.Asked),
			StopOnReject: t.Rule.StopOnReject}
	}
	return asked
}

func yielded(r *store.Run) *fcmp.Yielded {
	y := &fcmp.Yielded{
		Code: string(r.Block.Code), Message: r.Block.Reason, Retry: r.Repeats, NotBefore: r.Block.Until,
	}
	if r.Block.Kind == store.BlockSleep || r.AwaitsChildren() {
		y.Retry = 0
	}
	if r.Held() {
		y.Retry, y.Choices = r.Holds, choiceTexts(r.Block)
	}
	return y
}

func seconds(d time.Duration) int { return int(d / time.Second) }

// modeVote is the resolution_mode of a vote that does not settle its question.
const modeVote = "vote"

// recorded makes the event of an answer after which the run keeps waiting.
func (e *effects) recorded() *fcmp.Recorded {
	r := (*fcmp.Recorded)(replyAccepted(&e.settles))
	if e.settles.vote && e.edits.question != nil {
		r.ResolutionMode = modeVote
	}
	return r
}

func (e *effects) questionChanged() *fcmp.Changed {
	q, by := e.edits.question, &e.edits.by
	changed := &fcmp.Changed{InteractionID: q.ID, Change: e.edits.change, Actor: by.ID, Via: by.Via, For: by.For}
	switch e.edits.change {
	case changeExtend:
		changed.WaitDeadlineAt = q.EndsAt
	case changeClaim:
		changed.ClaimedUntil = q.Claim.Until
	case changeReassign:
		changed.To = audience(q.To)
	}
	if interaction.IsPolicy(by.ID) {
		changed.Need = max(int(q.Need), 1)
	}
	return changed
}

// noted makes the event of the question's last note.
func noted(q *interaction.Question) *fcmp.Noted {
	number := len(q.Notes.List)
	n := &q.Notes.List[number-1]
	return &fcmp.Noted{InteractionID: q.ID, Note: number, Text: n.Text, Actor: n.Actor, For: n.For, Via: n.Via}
}

// addStep adds the event of the executed step. The contract lists one for each action.
func (e *effects) addStep(c *store.Commit, action interaction.StepAction) error {
	q := e.edits.question
	s := &q.Wait.Steps[q.Fired-1]
	if s.Do != action {
		return nil
	}
	due := q.AskedAt.Add(s.After)
	if action == interaction.Remind {
		return addEvent(c, &fcmp.Reminder{InteractionID: q.ID, Step: int(q.Fired), DueAt: due})
	}
	return addEvent(c, &fcmp.Escalated{InteractionID: q.ID, Step: int(q.Fired), DueAt: due, To: audience(q.To)})
}

func addOwnWait(asked *fcmp.InputRequired, q *interaction.Question) {
	asked.OnDeadline, asked.WaitDeadlineAt = string(cmp.Or(q.Wait.Then, interaction.ThenWait)), q.EndsAt
	asked.Wait = &fcmp.OwnWait{Steps: make([]fcmp.OwnWaitStep, len(q.Wait.Steps))}
	for i, s := range q.Wait.Steps {
		asked.Wait.Steps[i] = fcmp.OwnWaitStep{At: q.AskedAt.Add(s.After), Action: string(s.Do)}
	}
}

func defaultTaken(q *interaction.Question, a *interaction.Answer) *fcmp.DefaultTaken {
	return &fcmp.DefaultTaken{InteractionID: a.ID, ResolutionMode: string(a.Resolution), AcceptedAt: a.AcceptedAt,
		TimeoutSec: secondsOpen(q), Decision: string(a.Decision)}
}

func secondsOpen(q *interaction.Question) int { return seconds(q.EndsAt.Sub(q.AskedAt)) }

func audience(to *interaction.Audience) *fcmp.Audience {
	if to == nil {
		return nil
	}
	return &fcmp.Audience{Everybody: to.Everybody, Users: to.Users, Groups: to.Groups, Except: to.Except}
}

func blocked(r *store.Run) *fcmp.Blocked {
	return &fcmp.Blocked{Code: string(r.Block.Code), Message: r.Block.Reason, Choices: choiceTexts(r.Block)}
}

func choiceTexts(b *store.Block) []string {
	texts := make([]string, len(b.Choices))
	for i, c := range b.Choices {
		texts[i] = string(c)
	}
	return texts
}

// remember describes a remembered decision in an event.
func remember(m *interaction.Memory) *fcmp.Remember {
	if m == nil {
		return nil
	}
	r := &fcmp.Remember{Until: m.Until}
	for i := range m.Equal {
		r.Equal = append(r.Equal, m.Equal[i].Path)
	}
	for _, l := range m.Most {
		r.Most = append(r.Most, fcmp.RememberLimit(l))
	}
	return r
}
