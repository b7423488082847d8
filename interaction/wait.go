package interaction

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// MaxSteps is how many steps a Wait may have.
const MaxSteps = 16

// Wait is how long a question waits, and what happens meanwhile. It comes from the host or the
// engine, never from the text of an agent, and is stored with the question when it is asked. All
// times count from when it is asked, in whole seconds.
type Wait struct {
	// Then says what happens at the End. It must be set if there is one.
	Then Then `json:"then"`
	// End is when Then happens; 0: the question waits until somebody replies.
	End time.Duration `json:"end,omitempty"`
	// Steps are carried out one after the other as long as the question is open, each later than
	// the one before it and before End; at most MaxSteps.
	Steps []WaitStep `json:"steps,omitempty"`
	// Default is the answer for ThenDefault.
	Default *DefaultReply `json:"default,omitempty"`
}

// WaitStep is something that is done about a question that is still open.
type WaitStep struct {
	Do    StepAction    `json:"do"`
	After time.Duration `json:"after"`
	// To is who is asked by Escalate, in place of those who were asked before, or beside them if
	// Join is set. Whoever was excepted stays excepted.
	To   *Audience `json:"to,omitempty"`
	Join bool      `json:"join,omitempty"`
}

// StepAction is what a WaitStep does.
type StepAction string

// The actions of steps.
const (
	Remind   StepAction = "remind"   // whoever was asked is reminded
	Escalate StepAction = "escalate" // others are asked
)

// Then is what happens at the End of a Wait.
type Then string

// What may happen at the End of a Wait.
const (
	ThenWait    Then = "keep_waiting" // nothing: the question is overdue, and waits on
	ThenFail    Then = "fail"         // the run fails
	ThenDecide  Then = "auto_decide"  // the engine decides, as far as the run allows it
	ThenDefault Then = "take_default" // the Default is the answer
)

// DefaultReply is the answer that is taken when nobody replied in time. It has a Text, or what a
// question of its kind takes: the Value of a form, or the Decision about an Approval, which can
// only be Reject, since time approves nothing.
type DefaultReply struct {
	Text     string          `json:"text"`
	Value    json.RawMessage `json:"value,omitempty" plain:"exact"`
	Decision Decision        `json:"decision,omitempty"`
}

// Validate returns an error if no question can have the wait. The error reads as a part of a
// sentence: "3 steps; at most 2 are allowed".
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
		return errors.New("others to remind; a reminder is for those who were asked")
	case s.Do == Remind:
		return nil
	case s.Do != Escalate:
		return fmt.Errorf("action %.40q; %q and %q are known", s.Do, Remind, Escalate)
	case s.To == nil || !s.To.Everybody && len(s.To.Users)+len(s.To.Groups) == 0:
		return errors.New("nobody to escalate to")
	}
	return s.To.Validate()
}

// validateEnd checks the end of a wait whose last step is at that time.
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

// reply is the default in the form of a reply to the question of this number.
func (d *DefaultReply) reply(number int) Reply {
	return Reply{ID: number, Text: d.Text, Value: d.Value, Decision: d.Decision}
}

// ValidateFor returns an error if the question cannot have this valid wait: it does not take the
// default answer, or a step would ask too many people or none.
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

// ValidateSteps returns an error if these steps cannot escalate a question to this audience: a step
// would ask too many people, or only people who are excepted.
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
			return fmt.Errorf("step %d for nobody but those who are excepted", i+1)
		}
	}
	return nil
}

// escalated returns who may answer after the step, if to could before.
func (s *WaitStep) escalated(to *Audience) *Audience {
	next := s.To.Clone()
	if to == nil && s.Join {
		return nil // everybody could already
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

// Clone returns a copy that shares nothing.
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

// StartWait sets the time of the end by the time at which the question was asked, and Fired to 0.
func (q *Question) StartWait() {
	q.Fired, q.EndsAt = 0, time.Time{}
	if q.Wait != nil && q.Wait.End > 0 {
		q.EndsAt = q.AskedAt.Add(q.Wait.End)
	}
}

// NextDue is the time at which something is next to be done about the open question by its own
// Wait: its next step, or its end. It is zero if there is nothing to do any more. A step comes
// before an end of the same time.
func (q *Question) NextDue() time.Time {
	due := time.Time{}
	if q.Wait == nil {
		return due
	}
	if !q.EndsAt.IsZero() && q.Wait.Then != ThenWait {
		due = q.EndsAt
	}
	if s := q.NextStep(); s != nil {
		if at := q.AskedAt.Add(s.After); due.IsZero() || !at.After(due) {
			return at
		}
	}
	return due
}

// NextStep is the next step of the question's Wait; nil if all were carried out.
func (q *Question) NextStep() *WaitStep {
	if q.Wait == nil || int(q.Fired) >= len(q.Wait.Steps) {
		return nil
	}
	return &q.Wait.Steps[q.Fired]
}

// StepDue reports whether it is a step that is due at NextDue, and not the end.
func (q *Question) StepDue() bool {
	s := q.NextStep()
	return s != nil && q.AskedAt.Add(s.After).Equal(q.NextDue())
}

// Fire returns the question after its next step, which there must be. An escalation ends a claim:
// whoever made it has let that time pass, and may not be asked any more.
func (q Question) Fire() Question {
	if s := q.NextStep(); s.Do == Escalate {
		q.To, q.Claim = s.escalated(q.To), nil
	}
	q.Fired++
	return q
}

// TakeDefault is the default answer of the question, which must have one. Its Resolution is
// DefaultAnswer, not UserReply.
func (q *Question) TakeDefault(now time.Time) Answer {
	a := q.Wait.Default.reply(q.ID).AnswerTo(q, now)
	a.Resolution = DefaultAnswer
	return a
}
