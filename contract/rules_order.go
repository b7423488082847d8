package contract

import (
	"errors"
	"fmt"
	"slices"
)

// The rules about order: which event may stand where.

// schemaValid is decided while a line is read, before there is an event to judge.
type schemaValid struct{}

func (schemaValid) bind(*Lifecycle) error     { return nil }
func (schemaValid) judge(*view, *step) string { return "" }

type startsWith struct {
	Type string `json:"type"`
}

func (r *startsWith) bind(l *Lifecycle) error { return all("event type", l.types(), r.Type) }

func (r *startsWith) judge(v *view, s *step) string {
	switch first := v.prev == nil; {
	case first && s.Type != r.Type:
		return fmt.Sprintf("the first event is %s, not %s", s.Type, r.Type)
	case !first && s.Type == r.Type:
		return fmt.Sprintf("%s stands at seq %d", r.Type, s.Seq)
	}
	return ""
}

type contiguous struct {
	Field string `json:"field"`
	Per   string `json:"per,omitempty"` // counts anew when this field changes
}

func (r *contiguous) bind(*Lifecycle) error {
	if r.Per == "" {
		return all("field", numbers, r.Field)
	}
	return all("field", numbers, r.Field, r.Per)
}

func (r *contiguous) judge(v *view, s *step) string {
	want := 1
	if v.prev != nil && (r.Per == "" || v.prev.number(r.Per) == s.number(r.Per)) {
		want = v.prev.number(r.Field) + 1
	}
	if got := s.number(r.Field); got != want {
		return fmt.Sprintf("%s is %d, not %d", r.Field, got, want)
	}
	return ""
}

type monotone struct {
	Field string `json:"field"`
}

func (r *monotone) bind(*Lifecycle) error { return all("time", []string{"ts"}, r.Field) }

func (r *monotone) judge(v *view, s *step) string {
	if v.prev != nil && s.TS.Before(v.prev.TS) {
		return fmt.Sprintf("%s goes back by %s", r.Field, v.prev.TS.Sub(s.TS))
	}
	return ""
}

type constant struct {
	Fields []string `json:"fields"`
}

func (r *constant) bind(*Lifecycle) error { return some("field", texts, r.Fields...) }

func (r *constant) judge(v *view, s *step) string {
	for _, field := range r.Fields {
		if v.prev != nil && v.prev.text(field) != s.text(field) {
			return fmt.Sprintf("%s was %q and is %q", field, v.prev.text(field), s.text(field))
		}
	}
	return ""
}

type absorbing struct{}

func (absorbing) bind(*Lifecycle) error { return nil }

func (absorbing) judge(v *view, s *step) string {
	if v.l.Terminal(v.state) {
		return fmt.Sprintf("%s follows the end in state %s", s.Type, v.state)
	}
	return ""
}

type paired struct {
	First           pattern `json:"first"`
	Second          pattern `json:"second"`
	SameInteraction bool    `json:"same_interaction,omitempty"`
}

func (r *paired) bind(l *Lifecycle) error { return errors.Join(r.First.bind(l), r.Second.bind(l)) }

func (r *paired) judge(v *view, s *step) string {
	switch first, second := r.First.matches(v.prev), r.Second.matches(s); {
	case first && !second:
		return fmt.Sprintf("%s is followed by %s, not by %s", r.First, s.Type, r.Second)
	case second && !first:
		return fmt.Sprintf("%s does not follow %s", r.Second, r.First)
	case first && r.SameInteraction && v.prev.data.PendingInteractionID != s.data.InteractionID:
		return fmt.Sprintf("the state waits for question %d, but question %d is shown", v.prev.data.PendingInteractionID, s.data.InteractionID)
	}
	return ""
}

func (r *paired) unfinished(v *view) string {
	if r.First.matches(v.prev) {
		return fmt.Sprintf("%s is the last event, but %s must follow", r.First, r.Second)
	}
	return ""
}

type precedes struct {
	Type string   `json:"type"`
	Past []string `json:"past"` // what may stand between
	Then pattern  `json:"then"`
}

func (r *precedes) bind(l *Lifecycle) error {
	return errors.Join(all("event type", l.types(), r.Type), some("event type that may stand between", []string{TypeWarning}, r.Past...), r.Then.bind(l))
}

func (r *precedes) judge(v *view, s *step) string {
	if v.loud != nil && v.loud.Type == r.Type && !slices.Contains(r.Past, s.Type) && !r.Then.matches(s) {
		return fmt.Sprintf("%s is followed by %s, not by %s", r.Type, describe(s), r.Then)
	}
	return ""
}

func (r *precedes) unfinished(v *view) string {
	if v.loud != nil && v.loud.Type == r.Type {
		return fmt.Sprintf("%s is not followed by %s", r.Type, r.Then)
	}
	return ""
}

type leadsTo struct {
	After pattern `json:"after"`
	To    pattern `json:"to"`
}

func (r *leadsTo) bind(l *Lifecycle) error { return errors.Join(r.After.bind(l), r.To.bind(l)) }

func (r *leadsTo) judge(v *view, s *step) string {
	if s.Type == TypeStateChanged && r.After.matches(v.changed) && !r.To.matches(s) {
		return fmt.Sprintf("%s leads to %s: the answer was never executed", r.After, describe(s))
	}
	return ""
}

func describe(s *step) string {
	if s.Type == TypeStateChanged {
		return fmt.Sprintf("%s → %s by %s", s.data.From, s.data.To, s.data.Trigger)
	}
	return s.Type
}
