package interaction

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// MaxSteps limits the steps of a Wait.
const MaxSteps = 16

// Wait limits how long a question stays open, and schedules reminders and escalations. It comes
// from the host or the engine, never from an agent's text, and is stored with the question. All
// times count from AskedAt, in whole seconds.
type Wait struct {
	// Then is the action at End; required if End is set.
	Then Then `json:"then"`
	// End is the time of Then; 0: the question waits without limit.
	End time.Duration `json:"end,omitempty"`
	// Steps run in order while the question is open, each later than the previous one and before
	// End; at most MaxSteps.
	Steps []WaitStep `json:"steps,omitempty"`
	// Default is the answer for ThenDefault.
	Default *DefaultReply `json:"default,omitempty"`
}

type WaitStep struct {
	Do    StepAction    `json:"do"`
	After time.Duration `json:"after"`
	// To is the audience of an Escalate; it replaces the current one, or is added to it if Join is
	// set. Users in Except stay excluded.
	To   *Audience `json:"to,omitempty"`
	Join bool      `json:"join,omitempty"`
}

type StepAction string

// The actions of steps.
const (
	Remind   StepAction = "remind"   // reminds the current audience
	Escalate StepAction = "escalate" // changes the audience
)

// Then is the action at the End of a Wait.
type Then string

// The actions at the End of a Wait.
const (
	ThenWait    Then = "keep_waiting" // none: the question is overdue and stays open
	ThenFail    Then = "fail"         // the run fails
	ThenDecide  Then = "auto_decide"  // the engine decides, as far as the run allows it
	ThenDefault Then = "take_default" // Default becomes the answer
)

// DefaultReply is the answer if no one replies in time: a Text, or the Value or Decision that the
// question takes. The decision about an Approval can only be Reject: time approves nothing.
type DefaultReply struct {
	Text     string          `json:"text"`
	Value    json.RawMessage `json:"value,omitempty" plain:"exact"`
	Decision Decision        `json:"decision,omitempty"`
}

// Validate returns an error if the wait is invalid for every question, as the end of a sentence: "3
// steps; at most 2 are allowed".
func (w *Wait) Validate() error {
	if w == nil {
		return nil
	}
	if len(w.Steps) > MaxSteps {
		return fmt.Errorf("%d steps; at most %d are allowed", len(w.Steps), MaxSteps)
	}
	last := time.Duration(0)
	for i := range w.Steps {
		s := &w.Steps[i]
		if s.After <= last || s.After%time.Second != 0 {
			return fmt.Errorf("step %d after %s; each is after whole seconds, and later than the one before it", i+1,
				s.After)
		}
		if err := s.validate(); err != nil {
			return fmt.Errorf("step %d with %w", i+1, err)
		}
		last = s.After
	}
	return w.validateEnd(last)
}

func (s *WaitStep) validate() error {
	switch {
	case s.Do == Remind && (s.To != nil || s.Join):
		return errors.New("an audience; a reminder goes to the current audience")
	case s.Do == Remind:
		return nil
	case s.Do != Escalate:
		return fmt.Errorf("action %.40q; %q and %q are known", s.Do, Remind, Escalate)
	case s.To == nil || !s.To.Everybody && len(s.To.Users)+len(s.To.Groups) == 0:
		return errors.New("no audience to escalate to")
	}
	return s.To.Validate()
}

func (w *Wait) validateEnd(last time.Duration) error {
	switch w.Then {
	case "", ThenWait, ThenFail, ThenDecide, ThenDefault:
	default:
		return fmt.Errorf("a Then of %.40q, which is unknown", w.Then)
	}
	switch {
	case w.End < 0 || w.End%time.Second != 0:
		return fmt.Errorf("an End of %s; whole seconds are allowed", w.End)
	case w.End > 0 && w.Then == "":
		return errors.New("an End and no Then")
	case w.End == 0 && w.Then != "" && w.Then != ThenWait:
		return fmt.Errorf("a Then of %q and no End", w.Then)
	case w.End > 0 && last >= w.End:
		return fmt.Errorf("a step after %s, which is not before its End, %s", last, w.End)
	case (w.Default != nil) != (w.Then == ThenDefault):
		return fmt.Errorf("a Default, or none; there is one exactly for Then %q", ThenDefault)
	case w.Default == nil:
		return nil
	}
	if d := w.Default.Decision; d != "" && d != Reject {
		return fmt.Errorf("a Default with decision %.40q; only %q may be taken by default", d, Reject)
	}
	if err := w.Default.reply(1).Validate(); err != nil {
		return fmt.Errorf("a Default that is no answer: %w", err)
	}
	return nil
}

func (d *DefaultReply) reply(number int) Reply {
	const accept = true // by the host, which has chosen the default
	return Reply{ID: number, Text: d.Text, Value: d.Value, Decision: d.Decision, AcceptRisk: accept}
}

// ValidateFor returns an error if this valid wait does not fit the question: its default is no
// valid answer, or a step would ask too many people or none.
func (w *Wait) ValidateFor(q Question) error {
	if err := w.ValidateSteps(q.To); err != nil || w == nil || w.Default == nil {
		return err
	}
	q.To, q.Need, q.Rejects = nil, 0, 0
	if err := w.Default.reply(q.ID).ValidateFor(q); err != nil {
		return fmt.Errorf("a Default that is no answer to it: %w", err)
	}
	return nil
}

// ValidateSteps returns an error if these steps cannot escalate from this audience: a step would
// ask too many people, or only excluded ones.
func (w *Wait) ValidateSteps(to *Audience) error {
	if w == nil {
		return nil
	}
	for i := range w.Steps {
		if w.Steps[i].Do != Escalate {
			continue
		}
		to = w.Steps[i].escalated(to)
		if err := to.Validate(); err != nil {
			return fmt.Errorf("step %d with %w", i+1, err)
		}
		if !Enough(1, to) {
			return fmt.Errorf("step %d only for people who are excepted", i+1)
		}
	}
	return nil
}

func (s *WaitStep) escalated(to *Audience) *Audience {
	next := s.To.Clone()
	if to == nil && s.Join {
		return nil // already open to everybody
	}
	if to == nil {
		return next
	}
	union := func(a, b []string) []string {
		for _, name := range b {
			if !slices.Contains(a, name) {
				a = append(a, name)
			}
		}
		return a
	}
	next.Except = union(next.Except, to.Except)
	if s.Join {
		next.Everybody = next.Everybody || to.Everybody
		next.Users, next.Groups = union(next.Users, to.Users), union(next.Groups, to.Groups)
	}
	return next
}

// Clone returns a deep copy.
func (w *Wait) Clone() *Wait {
	if w == nil {
		return nil
	}
	c := *w
	c.Steps = slices.Clone(w.Steps)
	for i := range c.Steps {
		c.Steps[i].To = c.Steps[i].To.Clone()
	}
	if w.Default != nil {
		d := *w.Default
		d.Value = slices.Clone(d.Value)
		c.Default = &d
	}
	return &c
}

// StartWait sets EndsAt from AskedAt, and Fired to 0.
func (q *Question) StartWait() {
	q.Fired, q.EndsAt = 0, time.Time{}
	if q.Wait != nil && q.Wait.End > 0 {
		q.EndsAt = q.AskedAt.Add(q.Wait.End)
	}
}

// NextDue returns the time of the open question's next step or end, from its own Wait; zero if
// none. A step precedes an end at the same time.
func (q *Question) NextDue() time.Time {
	due := time.Time{}
	if q.Wait == nil {
		return due
	}
	if !q.EndsAt.IsZero() && q.Wait.Then != ThenWait {
		due = q.EndsAt
	}
	if s := q.nextStep(); s != nil {
		if at := q.AskedAt.Add(s.After); due.IsZero() || !at.After(due) {
			return at
		}
	}
	return due
}

func (q *Question) nextStep() *WaitStep {
	if q.Wait == nil || int(q.Fired) >= len(q.Wait.Steps) {
		return nil
	}
	return &q.Wait.Steps[q.Fired]
}

// StepDue reports whether a step, not the end, is due at NextDue.
func (q *Question) StepDue() bool {
	s := q.nextStep()
	return s != nil && q.AskedAt.Add(s.After).Equal(q.NextDue())
}

// Fire returns the question after its next step, which must exist. An escalation ends a claim: the
// claimant has let the time pass, and may no longer be in the audience.
func (q Question) Fire() Question {
	if s := q.nextStep(); s.Do == Escalate {
		q.To, q.Claim = s.escalated(q.To), nil
	}
	q.Fired++
	return q
}

// TakeDefault returns the question's default answer, which must exist. Its Resolution is
// DefaultAnswer, not UserReply.
func (q *Question) TakeDefault(now time.Time) Answer {
	a := q.Wait.Default.reply(q.ID).AnswerTo(q, now)
	a.Resolution = DefaultAnswer
	return a
}
