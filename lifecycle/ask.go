package lifecycle

import (
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/interaction"
)

// AskPolicy says who may answer the questions of a run (K5), and how long these wait (K7). The host
// sets it in Spec.Ask, and it is stored with each question when the question is asked, so an agent
// cannot choose who approves what it does.
type AskPolicy struct {
	// NotSubmitter: whoever submitted the run, as Spec.Submitter says, may answer none of its
	// questions.
	NotSubmitter bool `json:"not_submitter"`
	// To is who may answer the questions that name nobody; nil: everybody. Only a Go engine can name
	// somebody itself (engine.Question.To).
	To *interaction.Audience `json:"to,omitempty"`
	// Wait is how long the questions wait, and what happens meanwhile; nil: as session_timeout and
	// strictness say. Only a Go engine can say it itself, for a question (engine.Question.Wait).
	Wait *interaction.Wait `json:"wait,omitempty"`
}

// findFault returns what is wrong with the policy; nil if nothing is.
func (s *Spec) findAskFault() *SpecError {
	if s.Submitter != "" {
		if fault := (&Audience{Users: []string{s.Submitter}}).Fault(); fault != "" {
			return &SpecError{"Submitter", bytesOf(len(s.Submitter)), "at most 255 bytes of UTF-8 without NUL", nil}
		}
	}
	if s.Ask == nil {
		return nil
	}
	to := s.Ask.To
	switch fault := to.Fault(); {
	case fault != "":
		return &SpecError{"Ask", "with " + fault, "names that actors can have", nil}
	case to != nil && !to.Everybody && len(to.Users)+len(to.Groups) == 0:
		return &SpecError{"Ask", "for nobody", "users, groups or Everybody", nil}
	case s.Ask.NotSubmitter && s.Submitter == "":
		return &SpecError{"Ask", "with NotSubmitter", "a Submitter", nil}
	case s.Ask.NotSubmitter && to != nil && len(to.Except) >= interaction.MaxAudience:
		return &SpecError{"Ask", "with Except of " + entriesOf(len(to.Except)), "room for the submitter", nil}
	}
	if fault := s.Ask.Wait.Fault(); fault != "" {
		return &SpecError{"Ask.Wait", "with " + fault, "steps in their order, and an end with its Then", nil}
	}
	return nil
}

// restricts reports whether there is anybody whom the policy does not let answer.
func (a *AskPolicy) restricts() bool { return a != nil && (a.To != nil || a.NotSubmitter) }

// binds reports whether the policy says anything about the run's questions.
func (a *AskPolicy) binds() bool { return a.restricts() || a != nil && a.Wait != nil }

// applyPolicy applies the host's policy to a question, and gives it the wait that the specification
// has unless the engine has given it one. The error says why it cannot wait so: then it waits until
// somebody replies.
func (s *Spec) applyPolicy(q *interaction.Question) error {
	s.address(q)
	if q.Wait == nil && s.Ask != nil {
		q.Wait = s.Ask.Wait.Clone()
	}
	if fault := q.Wait.FaultFor(*q); fault != "" {
		q.Wait = &interaction.Wait{}
		return fmt.Errorf("the question's wait has %s; it waits until somebody replies", fault)
	}
	return nil
}

// address names who may answer a question of the run. What the engine says of it comes before what
// the specification says, but the submitter stays excepted.
func (s *Spec) address(q *interaction.Question) {
	if !s.Ask.restricts() {
		return
	}
	to := q.To.Clone()
	if to == nil {
		to = s.Ask.To.Clone()
	}
	if to == nil {
		to = &Audience{Everybody: true}
	}
	if s.Ask.NotSubmitter && !slices.Contains(to.Except, s.Submitter) {
		to.Except = append(to.Except, s.Submitter)
	}
	q.To = to
}
