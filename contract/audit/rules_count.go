package audit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// The rules about counts: attempts, questions, automatic decisions.

// countsAt is IV-07, IV-23: the field starts at 0 and grows by one exactly at the events.

type countsAt struct {
	Field string  `json:"field"`
	At    pattern `json:"at"`
}

func (r *countsAt) bind(l *contract.Lifecycle) error {
	return errors.Join(allKnown("field", []string{"meta.attempt", "data.interaction_id"}, r.Field), r.At.bind(l))
}

func (r *countsAt) judge(v *view, s *step) string {
	if r.Field == "meta.attempt" {
		return r.attempt(v, s)
	}
	got := s.number(r.Field)
	switch {
	case !r.At.matches(s):
		return "" // other events only refer to a question
	case v.askedUnknown, s.uncounted, v.prev != nil && v.prev.misplaced:
		return s.skip()
	}
	return r.differs(s, got, v.asked+1)
}

// attempt checks the number of the attempt, which every event has.

func (r *countsAt) attempt(v *view, s *step) string {
	got, last, grows := s.Meta.Attempt, 0, 0
	if r.At.matches(s) {
		grows = 1
	}
	if v.head != nil {
		last = v.head.Meta.Attempt
	}
	switch {
	case v.gap || got == unknownAttempt || last == unknownAttempt:
		return s.skip()
	case v.head != nil && s.follows(v.head, r.Field, grows):
		return ""
	}
	return r.differs(s, got, last+grows)
}

func (r *countsAt) differs(s *step, got, want int) string {
	if got != want {
		s.should(r.Field, want)
		return fmt.Sprintf("%s is %d at %s, not %d", r.Field, got, describe(s), want)
	}
	return ""
}

// atMostOnce is IV-24, IV-29: there is at most one event of the types for each value of Per.
type atMostOnce struct {
	Types []string `json:"types"`
	Per   string   `json:"per"`
}

func (r *atMostOnce) bind(l *contract.Lifecycle) error {
	return errors.Join(someKnown("event type", l.PayloadTypes(), r.Types...), allKnown("field", numbers, r.Per))
}

// judge compares with the last event of each type, since other rules make sure that the numbers
// never go back. Only questions that were asked together are settled in any order, so these are
// compared with all that are settled of them.
func (r *atMostOnce) judge(v *view, s *step) string {
	if !slices.Contains(r.Types, s.Type) || s.votes() {
		return ""
	}
	if s.number(r.Per) == unknownAttempt {
		return s.skip()
	}
	together := r.Per == "data.interaction_id" && v.group.has(s.data.InteractionID)
	earlier := v.last
	if together {
		earlier = v.group.settled
	}
	for _, last := range earlier {
		if slices.Contains(r.Types, last.Type) && (s.number(r.Per) == last.number(r.Per) ||
			!together && s.number(r.Per) < last.number(r.Per)) {
			return fmt.Sprintf("%s for %s %d, after %s at seq %d", s.Type, r.Per, s.number(r.Per), last.Type, last.Seq)
		}
	}
	return ""
}

// atMost is IV-15: there are not more of the events than the limit of the run.
type atMost struct {
	Event pattern `json:"event"`
	Limit string  `json:"limit"`
}

func (r *atMost) bind(l *contract.Lifecycle) error {
	return errors.Join(allKnown("event type that is counted", []string{fcmp.TypeAutoDecided}, r.Event.Type),
		allKnown("limit", []string{"max_auto_decisions"}, r.Limit), r.Event.bind(l))
}

func (r *atMost) judge(v *view, s *step) string {
	if !r.Event.matches(s) && !s.autoDecides() {
		return ""
	}
	left, ok := v.autoDecisionLeft()
	switch {
	case !ok:
		return s.skip()
	case !left:
		return fmt.Sprintf("%s number %d, but %s is %d", s.Type, v.autoDecisions+1, r.Limit,
			*v.started.data.MaxAutoDecisions)
	}
	return ""
}

// below is IV-16: at the events, the field is below the limit of the run, not counting the turns
// that were put off or in which a fork asks again.
type below struct {
	Event pattern `json:"event"`
	Field string  `json:"field"`
	Limit string  `json:"limit"`
}

func (r *below) bind(l *contract.Lifecycle) error {
	return errors.Join(r.Event.bind(l), allKnown("field", numbers, r.Field),
		allKnown("limit", []string{"max_attempt"}, r.Limit))
}

func (r *below) judge(v *view, s *step) string {
	switch {
	case !r.Event.matches(s):
		return ""
	case v.started == nil || s.number(r.Field) == unknownAttempt:
		return s.skip()
	case v.started.data.MaxAttempt == 0, v.mustAskAgain() && s.data.Trigger == "turn.needs_input":
		return ""
	}
	if v.partial && s.number(r.Field) >= v.started.data.MaxAttempt {
		return s.skip() // turns may have been put off before the log begins
	}
	if got, limit := s.number(r.Field)-v.yielded, v.started.data.MaxAttempt; got >= limit {
		return fmt.Sprintf("%s at %s %d, but %s is %d", describe(s), r.Field, got, r.Limit, limit)
	}
	return ""
}
