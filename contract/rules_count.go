package contract

import (
	"errors"
	"fmt"
	"slices"
)

// The rules that count: attempts, questions, decisions.

type countsAt struct {
	Field string  `json:"field"`
	At    pattern `json:"at"`
}

func (r *countsAt) bind(l *Lifecycle) error {
	return errors.Join(all("field", []string{"meta.attempt", "data.interaction_id"}, r.Field), r.At.bind(l))
}

func (r *countsAt) judge(v *view, s *step) string {
	last, matches := v.asked, r.At.matches(s)
	if r.Field == "meta.attempt" {
		last = 0
		if v.prev != nil {
			last = v.prev.Meta.Attempt
		}
	} else if !matches {
		return "" // other events refer to a question, they do not count it
	}
	want := last
	if matches {
		want++
	}
	if got := s.number(r.Field); got != want {
		return fmt.Sprintf("%s is %d at %s, not %d", r.Field, got, describe(s), want)
	}
	return ""
}

type atMostOnce struct {
	Types []string `json:"types"`
	Per   string   `json:"per"`
}

func (r *atMostOnce) bind(l *Lifecycle) error {
	return errors.Join(some("event type", l.types(), r.Types...), all("field", numbers, r.Per))
}

// judge compares with the last event of each type only: what is counted never goes back in a log that got this far.
func (r *atMostOnce) judge(v *view, s *step) string {
	if !slices.Contains(r.Types, s.Type) {
		return ""
	}
	for _, last := range v.last {
		if slices.Contains(r.Types, last.Type) && s.number(r.Per) <= last.number(r.Per) {
			return fmt.Sprintf("%s for %s %d, after %s at seq %d", s.Type, r.Per, s.number(r.Per), last.Type, last.Seq)
		}
	}
	return ""
}

type atMost struct {
	Event pattern `json:"event"`
	Limit string  `json:"limit"`
}

func (r *atMost) bind(l *Lifecycle) error {
	return errors.Join(all("event type that is counted", []string{TypeAutoDecided}, r.Event.Type), all("limit", []string{"max_auto_decisions"}, r.Limit), r.Event.bind(l))
}

func (r *atMost) judge(v *view, s *step) string {
	if r.Event.matches(s) && v.begun != nil && !v.autoDecisionLeft() {
		return fmt.Sprintf("%s number %d, but %s is %d", s.Type, v.autoDecisions+1, r.Limit, v.begun.data.MaxAutoDecisions)
	}
	return ""
}

type below struct {
	Event pattern `json:"event"`
	Field string  `json:"field"`
	Limit string  `json:"limit"`
}

func (r *below) bind(l *Lifecycle) error {
	return errors.Join(r.Event.bind(l), all("field", numbers, r.Field), all("limit", []string{"max_attempt"}, r.Limit))
}

func (r *below) judge(v *view, s *step) string {
	if !r.Event.matches(s) || v.begun == nil || v.begun.data.MaxAttempt == 0 {
		return ""
	}
	if got, limit := s.number(r.Field), v.begun.data.MaxAttempt; got >= limit {
		return fmt.Sprintf("%s at %s %d, but %s is %d", describe(s), r.Field, got, r.Limit, limit)
	}
	return ""
}
