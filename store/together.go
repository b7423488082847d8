package store

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// Together describes consecutively numbered questions that one turn has asked together.
type Together struct {
	First int `json:"first"` // the first question's number
	Asked int `json:"asked"` // their number
	// Rule decides when the run continues.
	Rule interaction.Rule `json:"rule"`
	// Replies counts the questions answered by people.
	Replies int `json:"replies,omitempty"`
	// Inherited reports that the questions belong to the fork's source. The fork's specification
	// has the answers, and First and Asked are 0.
	Inherited bool `json:"inherited,omitempty"`
}

// Met reports whether the run continues after this many replies and open questions; rejected: the
// last reply rejects an approval.
func (t *Together) Met(replies, open int, rejected bool) bool {
	return open == 0 || replies >= t.Rule.Needs(t.Asked) || rejected && t.Rule.StopOnReject
}

// FirstOpen returns the open question with the lowest number; nil if none is open.
func (r *Run) FirstOpen() *interaction.Question {
	if len(r.Open) == 0 {
		return nil
	}
	return &r.Open[0]
}

// OpenQuestion returns the open question with that number, or nil.
func (r *Run) OpenQuestion(number int) *interaction.Question {
	for i := range r.Open {
		if r.Open[i].ID == number {
			return &r.Open[i]
		}
	}
	return nil
}

// CloseQuestion removes an open question from a run that waits with several. It does not change the
// questions, which other copies of the record may share.
func (r *Run) CloseQuestion(number int) {
	r.Open = slices.DeleteFunc(slices.Clone(r.Open), func(q interaction.Question) bool { return q.ID == number })
}

// Memory returns the remembered decision about the question with this number, or nil.
func (r *Run) Memory(number int) *interaction.Memory {
	for i := range r.Remembered {
		if r.Remembered[i].ID == number {
			return &r.Remembered[i]
		}
	}
	return nil
}

// MemoryFor returns the oldest remembered decision that covers the open question now, or nil.
func (r *Run) MemoryFor(q *interaction.Question, now time.Time) *interaction.Memory {
	for i := range r.Remembered {
		if r.Remembered[i].Covers(q, now) {
			return &r.Remembered[i]
		}
	}
	return nil
}

// givenAnswer returns the accepted answer to a single question; nil without one.
func (r *Run) givenAnswer() *interaction.Answer {
	if len(r.Answers) == 0 {
		return nil
	}
	return &r.Answers[0]
}

// validateOpen checks the open questions against the record: a single question must have the last
// number, and several must belong to Together.
func (r *Run) validateOpen() error {
	if err := r.validateWaits(); err != nil {
		return err
	}
	if err := r.validateVotes(); err != nil {
		return err
	}
	t := r.Together
	if t == nil {
		switch {
		case len(r.Open) > 1:
			return invalid(r, "questions are open together that were not asked together")
		case len(r.Open) > 0 && r.Open[0].ID != r.Interactions:
			return invalid(r, "the pending question has number %d, want the last number, %d", r.Open[0].ID,
				r.Interactions)
		}
		return r.validateAskedAt()
	}
	if err := t.check(r); err != nil {
		return err
	}
	last := t.First - 1
	for i := range r.Open {
		q := &r.Open[i]
		if q.ID <= last || q.ID >= t.First+t.Asked {
			return invalid(r, "question %d is open, want numbers from %d on in their order, and %d at most", q.ID,
				t.First, t.Asked)
		}
		last = q.ID
	}
	return r.validateAskedAt()
}

// check returns an error if the questions were not asked last, or if their counts are not possible.
func (t *Together) check(r *Run) error {
	open := len(r.Open)
	switch {
	case t.Rule.Answers < 0:
		return invalid(r, "the rule of its questions needs %d answers", t.Rule.Answers)
	case t.Inherited:
		if r.ForkedFrom == nil || r.Interactions > 0 || open > 0 || t.First != 0 || t.Asked != 0 || t.Replies != 0 {
			return invalid(r, "only a fork that has asked nothing yet inherits several answers")
		}
	case t.Asked < 2 || t.Asked > interaction.MaxQuestions || t.First < 1 || t.First+t.Asked-1 != r.Interactions:
		return invalid(r, "%d questions were asked together from number %d on, want 2 to %d, the last of them %d",
			t.Asked, t.First, interaction.MaxQuestions, r.Interactions)
	case t.Replies < 0 || t.Replies > t.Asked-open:
		return invalid(r, "%d of %d questions have replies, and %d are open", t.Replies, t.Asked, open)
	case r.State.Terminal():
		return invalid(r, "it has ended, and cannot have answers")
	case len(r.Answers) > 0 || r.State != fsm.StateWaitingUser && open > 0:
		return invalid(r, "the answers to several questions are only in its history")
	}
	return nil
}

// NextDue returns the earliest step or end of the open questions' waits, and its question (on a
// tie, the lowest); zero without any.
func (r *Run) NextDue() (at time.Time, question *interaction.Question) {
	for i := range r.Open {
		q := &r.Open[i]
		if due := q.NextDue(); !due.IsZero() && (at.IsZero() || due.Before(at)) {
			at, question = due, q
		}
	}
	return at, question
}

// WaitOf returns the question's wait. For a question without a wait it returns the wait that the
// waiting policy implies. An implied wait is stored only if another question of the same turn has
// a wait.
func (r *Run) WaitOf(q *interaction.Question) interaction.Wait {
	if q.Wait != nil {
		return *q.Wait
	}
	switch rule, _ := fsm.Wait(r.Profile, r.Strict); rule.OnDeadline {
	case fsm.DeadlineAutoDecide:
		return interaction.Wait{End: r.SessionTimeout, Then: interaction.ThenDecide}
	case fsm.DeadlineFail:
		return interaction.Wait{End: r.SessionTimeout, Then: interaction.ThenFail}
	}
	return interaction.Wait{}
}

// EndOf returns what happens to an open question without a reply, by its wait or the run's policy,
// and when; zero: it waits without limit. An automatic decision that the run may no longer make
// fails it.
func (r *Run) EndOf(q *interaction.Question) (then interaction.Then, at time.Time) {
	then, at = cmp.Or(r.WaitOf(q).Then, interaction.ThenWait), q.EndsAt
	if q.Wait == nil {
		at = r.Deadline
	}
	if then == interaction.ThenDecide && r.AutoDecisions >= r.MaxAutoDecisions {
		then = interaction.ThenFail
	}
	return then, at
}

// ReplaceQuestion replaces the open question with the same number. It does not change the
// questions, which other copies of the record may share.
func (r *Run) ReplaceQuestion(q interaction.Question) {
	r.Open = slices.Clone(r.Open)
	for i := range r.Open {
		if r.Open[i].ID == q.ID {
			r.Open[i] = q
		}
	}
}

// validateWaits checks that all open questions have waits or none has. With waits, the deadline
// must be the next step or first end.
func (r *Run) validateWaits() error {
	for i := range r.Open {
		q := &r.Open[i]
		switch {
		case (q.Wait == nil) != (r.Open[0].Wait == nil):
			return invalid(r, "question %d has a wait, or has none, unlike the others", q.ID)
		case q.Wait == nil && (q.Fired != 0 || !q.EndsAt.IsZero()):
			return invalid(r, "question %d has no wait, but %d executed steps, or an end", q.ID, q.Fired)
		case q.Wait == nil:
			continue
		case q.Wait.Validate() != nil:
			return invalid(r, "question %d has a wait with %v", q.ID, q.Wait.Validate())
		case q.Fired < 0 || int(q.Fired) > len(q.Wait.Steps) ||
			q.EndsAt.IsZero() != (q.Wait.End == 0) || !storable(q.EndsAt):
			return invalid(r, "question %d has had %d steps of %d, and ends at %s", q.ID, q.Fired, len(q.Wait.Steps),
				q.EndsAt)
		}
	}
	if at, _ := r.NextDue(); len(r.Open) > 0 && r.Open[0].Wait != nil && !at.Equal(r.Deadline) {
		return invalid(r, "its deadline is %s, and the next step of its questions is at %s", r.Deadline, at)
	}
	return nil
}

func (r *Run) validateAskedAt() error {
	for i := range r.Open {
		q := &r.Open[i]
		if q.AskedAt.IsZero() || !storable(q.AskedAt) {
			return invalid(r, "question %d has asked_at %s, want a time in UTC in microseconds", q.ID, q.AskedAt)
		}
	}
	return nil
}

// validateQuestions compares the run's questions with the stored record prev: questions are
// numbered without a gap, and each stays open until it is settled, once.
func (c *Commit) validateQuestions(prev *Run) error {
	r := &c.Run
	for i := range c.Settled {
		if number := c.Settled[i].Question.ID; prev.OpenQuestion(number) == nil {
			return invalid(r, "it settles interaction %d, which is not open", number)
		}
	}
	if len(prev.Open) == 0 {
		if r.Interactions != prev.Interactions+len(r.Open) {
			return invalid(r, "interactions is %d, want %d", r.Interactions, prev.Interactions+len(r.Open))
		}
		return nil
	}
	if r.Interactions != prev.Interactions {
		return invalid(r, "interactions is %d, want %d: it waits", r.Interactions, prev.Interactions)
	}
	open := 0
	for i := range prev.Open {
		number := prev.Open[i].ID
		if err := c.validateNewNotes(prev, number); err != nil {
			return err
		}
		switch closed := c.settles(number); {
		case r.OpenQuestion(number) != nil:
			if err := c.validateNewVotes(prev, number); err != nil {
				return err
			}
			open++
		case !closed:
			return invalid(r, "interaction %d goes without being settled", number)
		}
	}
	if len(r.Open) > 0 && open != len(r.Open) {
		return invalid(r, "a question is open that was not open before, and it waits already")
	}
	return nil
}

func (c *Commit) settles(number int) bool {
	for i := range c.Settled {
		if c.Settled[i].Question.ID == number {
			return true
		}
	}
	return false
}

// Keyed returns the commit's settled interaction with an idempotency key, or nil.
func (c *Commit) Keyed() *interaction.Record {
	for i := range c.Settled {
		if c.Settled[i].Key != "" {
			return &c.Settled[i]
		}
	}
	return nil
}

// validateSettled returns an error if the settled interactions are incomplete, out of order or
// still open.
func (c *Commit) validateSettled() error {
	keys, last := 0, 0
	for i := range c.Settled {
		s := &c.Settled[i]
		switch {
		case s.Question.ID <= last && i > 0:
			return invalid(&c.Run, "interactions are settled in the order of their numbers, %d comes after %d",
				s.Question.ID, last)
		case c.Run.OpenQuestion(s.Question.ID) != nil:
			return invalid(&c.Run, "interaction %d is settled and still pending", s.Question.ID)
		case s.Question.AskedAt.IsZero() || !storable(s.Question.AskedAt):
			return invalid(&c.Run, "interaction %d is settled with asked_at %s, want a time in UTC in microseconds",
				s.Question.ID, s.Question.AskedAt)
		case s.Resolution == "" || s.ResolvedAt.IsZero() || !storable(s.ResolvedAt):
			return invalid(&c.Run, "interaction %d is settled with resolution %q at %s, want a resolution and a time "+
				"in UTC in microseconds", s.Question.ID, s.Resolution, s.ResolvedAt)
		}
		last = s.Question.ID
		if s.Key != "" {
			keys++
		}
	}
	if keys > 1 {
		return fmt.Errorf("%w: run %.128s: one reply makes a commit, so one key", ErrInvalid, c.Run.ID)
	}
	return nil
}
