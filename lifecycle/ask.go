package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/interlude-go/interlude/interaction"
)

// AskPolicy says who may answer the questions of a run and how many people decide an approval (K5),
// and how long the questions wait (K7). The host sets it in Spec.Ask, and it is stored with each
// question when the question is asked, so an agent cannot choose who approves what it does.
type AskPolicy struct {
	// NotSubmitter: whoever submitted the run, as Spec.Submitter says, may answer none of its
	// questions.
	NotSubmitter bool `json:"not_submitter"`
	// To is who may answer the questions that name nobody; nil: everybody. Only a Go engine can
	// name somebody itself (engine.Question.To).
	To *interaction.Audience `json:"to,omitempty"`
	// Need is how many people must approve an approval, and Rejects how many must reject it, if the
	// question does not say it itself (engine.Question.Need); 0: one. Each is at most
	// interaction.MaxNeed. Other questions take the first answer.
	Need    int `json:"need,omitempty"`
	Rejects int `json:"rejects,omitempty"`
	// Wait is how long the questions wait, and what happens meanwhile; nil: as session_timeout and
	// strictness say. Only a Go engine can say it itself, for a question (engine.Question.Wait).
	Wait *interaction.Wait `json:"wait,omitempty"`
}

// validateAsk returns what is wrong with the submitter or the policy; nil if nothing is.
func (s *Spec) validateAsk() *SpecError {
	if s.Submitter != "" {
		if (&Audience{Users: []string{s.Submitter}}).Validate() != nil {
			return &SpecError{"Submitter", bytesOf(len(s.Submitter)), "at most 255 bytes of UTF-8 without NUL", nil}
		}
	}
	if s.Ask == nil {
		return nil
	}
	to := s.Ask.To
	switch err := to.Validate(); {
	case err != nil:
		return &SpecError{"Ask", "with " + err.Error(), "names that actors can have", nil}
	case !interaction.Enough(1, to):
		return &SpecError{"Ask", forNobody, wantSomebody, nil}
	case s.Ask.NotSubmitter && s.Submitter == "":
		return &SpecError{"Ask", "with NotSubmitter", "a Submitter", nil}
	case s.Ask.NotSubmitter && to != nil && len(to.Except) >= interaction.MaxAudience:
		return &SpecError{"Ask", "with Except of " + entriesOf(len(to.Except)), "room for the submitter", nil}
	}
	if err := s.Ask.Wait.Validate(); err != nil {
		return &SpecError{"Ask.Wait", "with " + err.Error(), "steps in their order, and an end with its Then", nil}
	}
	return s.validatePeople()
}

// Parts of errors about an audience to which nobody can belong.
const (
	forNobody    = "for nobody"
	wantSomebody = "users, groups or Everybody"
)

// validatePeople returns a fault if the policy asks nobody, or fewer people than must decide; nil
// otherwise.
func (s *Spec) validatePeople() *SpecError {
	switch need, rejects := s.Ask.Need, s.Ask.Rejects; {
	case interaction.ValidateVotes(need, 0) != nil:
		return &SpecError{"Ask.Need", strconv.Itoa(need), fmt.Sprintf("0 to %d", interaction.MaxNeed), nil}
	case interaction.ValidateVotes(0, rejects) != nil:
		return &SpecError{"Ask.Rejects", strconv.Itoa(rejects), fmt.Sprintf("0 to %d", interaction.MaxNeed), nil}
	}
	if to := s.Ask.To; s.Ask.Wait == nil && (to.Open() || len(to.Groups) > 0) {
		return nil // nobody knows how many people these are, so there may be enough
	}
	q := Question{Subject: &interaction.Subject{}}
	asked := *s
	asked.Ask = &AskPolicy{NotSubmitter: s.Ask.NotSubmitter, To: s.Ask.To}
	asked.address(&q)
	q.Wait, q.Need, q.Rejects = s.Ask.Wait, s.Ask.Need, s.Ask.Rejects
	if !interaction.Enough(1, q.To) {
		return &SpecError{"Ask", forNobody + " but the submitter, who is excepted", wantSomebody, nil}
	}
	if err := q.Wait.ValidateSteps(q.To); err != nil {
		return &SpecError{"Ask.Wait", "with " + err.Error(), "escalations to people who may answer", nil}
	}
	if err := interaction.ValidateVoters(q); err != nil {
		return &SpecError{"Ask", "such that an approval " + err.Error(), "as many people as must decide", nil}
	}
	return nil
}

// restricts reports whether there is anybody whom the policy does not let answer.
func (a *AskPolicy) restricts() bool { return a != nil && (a.To != nil || a.NotSubmitter) }

// binds reports whether the policy says anything about the run's questions.
func (a *AskPolicy) binds() bool {
	return a.restricts() || a != nil && (a.Wait != nil || a.Need > 1 || a.Rejects > 1)
}

// applyPolicy applies the host's policy to a question. The question gets the numbers of people and
// the wait of the specification, unless the engine has set them. The question is asked even if
// there is an error. The error says that the wait is not possible, so that the question waits until
// somebody replies, or that too few people may decide the approval.
func (s *Spec) applyPolicy(q *interaction.Question) error {
	s.address(q)
	s.needPeople(q)
	if q.Wait == nil && s.Ask != nil {
		q.Wait = s.Ask.Wait.Clone()
	}
	if err := q.Wait.ValidateFor(*q); err != nil {
		q.Wait = &interaction.Wait{}
		return fmt.Errorf("the question's wait has %w; it waits until somebody replies", err)
	}
	if err := interaction.ValidateVoters(*q); err != nil {
		return fmt.Errorf("the approval %w: they cannot approve it, or cannot reject it", err)
	}
	return nil
}

// needPeople sets how many people decide an approval. If one person decides, both numbers are 0.
func (s *Spec) needPeople(q *interaction.Question) {
	if s.Ask != nil && q.Subject != nil {
		q.Need, q.Rejects = cmp.Or(q.Need, s.Ask.Need), cmp.Or(q.Rejects, s.Ask.Rejects)
	}
	if q.DecidedBySeveral() {
		q.AlsoText = false
	} else {
		q.Need, q.Rejects = 0, 0
	}
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
