package lifecycle

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// DefaultRetries is how often a host with Config.Forgiving retries transient failures.
const DefaultRetries = 8

const (
	MaxBudgetTurns  = 1_000_000
	MaxBudgetTokens = store.MaxUsage
)

func validateBudget(b Budget) *SpecError {
	switch {
	case b.Turns < 0 || b.Turns > MaxBudgetTurns:
		return &SpecError{"Budget", fmt.Sprintf("with Turns %d", b.Turns),
			fmt.Sprintf("1 to %d, or 0 for no limit", MaxBudgetTurns), nil}
	case b.Tokens < 0 || b.Tokens > MaxBudgetTokens:
		return &SpecError{"Budget", fmt.Sprintf("with Tokens %d", b.Tokens),
			fmt.Sprintf("1 to %d, or 0 for no limit", int64(MaxBudgetTokens)), nil}
	}
	return nil
}

func newBudget(limit Budget) *store.RunBudget {
	if limit == (Budget{}) {
		return nil
	}
	return &store.RunBudget{Limit: limit}
}

func validateRetry(r *Retry) *SpecError {
	if r == nil {
		return nil
	}
	if r.Max < 0 {
		return &SpecError{"Retry", fmt.Sprintf("with Max %d", r.Max), "an integer of at least 0", nil}
	}
	for _, pause := range []time.Duration{r.Backoff, r.MaxBackoff, r.Jitter} {
		if pause < 0 || pause > MaxRetryPause {
			return &SpecError{"Retry", "with a pause of " + pause.String(), "0s to " + MaxRetryPause.String(), nil}
		}
	}
	return nil
}

func knownOnInterrupt(o OnInterrupt) bool {
	return slices.Contains([]OnInterrupt{"", Fail, Repeat, Ask}, o)
}

func knownHold(h HoldPolicy) bool { return slices.Contains([]HoldPolicy{"", HoldOff, HoldOn}, h) }

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
		return &SpecError{"Ask", decide.ForNobody, decide.WantSomebody, nil}
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

// validatePeople returns a fault if the policy asks no one, or fewer people than must decide.
func (s *Spec) validatePeople() *SpecError {
	switch need, rejects := s.Ask.Need, s.Ask.Rejects; {
	case interaction.ValidateVotes(need, 0) != nil:
		return &SpecError{"Ask.Need", strconv.Itoa(need), fmt.Sprintf("0 to %d", interaction.MaxNeed), nil}
	case interaction.ValidateVotes(0, rejects) != nil:
		return &SpecError{"Ask.Rejects", strconv.Itoa(rejects), fmt.Sprintf("0 to %d", interaction.MaxNeed), nil}
	}
	if to := s.Ask.To; s.Ask.Wait == nil && (to.Open() || len(to.Groups) > 0) {
		return nil // a group's size is unknown
	}
	q := Question{Subject: &interaction.Subject{}}
	decide.Address(s.Ask, s.Submitter, &q)
	q.Wait, q.Need, q.Rejects = s.Ask.Wait, int8(s.Ask.Need), int8(s.Ask.Rejects)
	if !interaction.Enough(1, q.To) {
		return &SpecError{"Ask", decide.ForNobody + " but the submitter, who is excepted", decide.WantSomebody, nil}
	}
	if err := q.Wait.ValidateSteps(q.To); err != nil {
		return &SpecError{"Ask.Wait", "with " + err.Error(), "escalations to people who may answer", nil}
	}
	if err := interaction.ValidateVoters(q); err != nil {
		return &SpecError{"Ask", "such that an approval " + err.Error(), "as many people as must decide", nil}
	}
	return nil
}
