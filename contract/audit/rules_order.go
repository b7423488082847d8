package audit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// The rules about order: which event may follow which.

// schemaValid is IV-01, which is decided while a line is read.
type schemaValid struct{}

func (schemaValid) bind(*contract.Lifecycle) error { return nil }
func (schemaValid) judge(*view, *step) string      { return "" }

// startsWith is IV-02: the first event has the type, and no later one has it.
type startsWith struct {
	Type string `json:"type"`
}

func (r *startsWith) bind(l *contract.Lifecycle) error {
	return allKnown("event type", l.PayloadTypes(), r.Type)
}

func (r *startsWith) judge(v *view, s *step) string {
	switch first := v.head == nil; {
	case s.partial && s.Type != r.Type && first, s.partial && s.Type == r.Type && v.started == nil && !first:
		return s.skip() // the log begins in mid-run, or after an event that cannot be read
	case first && s.Type != r.Type:
		return fmt.Sprintf("the first event is %s, not %s", s.Type, r.Type)
	case !first && s.Type == r.Type:
		return fmt.Sprintf("%s at seq %d, but it may only be first", r.Type, s.Seq)
	}
	return ""
}

// contiguous is IV-03, IV-08: the field grows by one from event to event, from 1. With Per it
// starts again whenever that field changes.
type contiguous struct {
	Field string `json:"field"`
	Per   string `json:"per,omitempty"`
}

func (r *contiguous) bind(*contract.Lifecycle) error {
	if r.Per == "" {
		return allKnown("field", numbers, r.Field)
	}
	return allKnown("field", numbers, r.Field, r.Per)
}

func (r *contiguous) judge(v *view, s *step) string {
	want := 1
	switch {
	case r.Per != "" && (v.gap || s.number(r.Field) == 0 || s.number(r.Per) == unknownAttempt), v.gap &&
		v.head == nil && s.number(r.Field) != 1:
		return s.skip()
	case v.head == nil || r.Per != "" && v.head.number(r.Per) != s.number(r.Per):
	case r.Per != "" && v.head.number(r.Field) == 0:
		return s.skip()
	default:
		want = v.head.number(r.Field) + 1
	}
	if got := s.number(r.Field); got != want && (r.Per == "" || v.head == nil || !s.follows(v.head, r.Field, 1)) {
		s.should(r.Field, want)
		return fmt.Sprintf("%s is %d, not %d", r.Field, got, want)
	}
	return ""
}

// monotone is IV-04, IV-51: the time never goes back, and the incarnation never falls.
type monotone struct {
	Field string `json:"field"`
}

const memberIncarnation = "meta.incarnation"

func (r *monotone) bind(*contract.Lifecycle) error {
	return allKnown("field that only grows", []string{"ts", memberIncarnation}, r.Field)
}

func (r *monotone) judge(v *view, s *step) string {
	switch {
	case v.head == nil:
	case r.Field == memberIncarnation:
		was, is := v.head.Meta.Incarnation, s.Meta.Incarnation
		if s.partial && is == 0 && was > 0 {
			return s.skip()
		}
		if is < was {
			return fmt.Sprintf("%s was %d and is %d", r.Field, was, is)
		}
	case s.TS.Before(v.head.TS):
		return fmt.Sprintf("%s goes back by %s", r.Field, v.head.TS.Sub(s.TS))
	}
	return ""
}

// constant is IV-05: the fields keep their values.
type constant struct {
	Fields []string `json:"fields"`
}

func (r *constant) bind(*contract.Lifecycle) error {
	return someKnown("field", texts, r.Fields...)
}

func (r *constant) judge(v *view, s *step) string {
	for _, field := range r.Fields {
		if v.head == nil {
			return ""
		}
		switch was, is := v.head.text(field), s.text(field); {
		case was == "" || is == "":
			return s.skip()
		case was != is && is != v.head.dueEngine:
			s.dueEngine = was
			return fmt.Sprintf("%s was %q and is %q", field, was, is)
		}
	}
	return ""
}

// absorbing is IV-06: nothing follows the event that ends a run.
type absorbing struct{}

func (absorbing) bind(*contract.Lifecycle) error { return nil }

func (absorbing) judge(v *view, s *step) string {
	if v.l.Terminal(v.state) && (!v.pastEnd || s.Type == fcmp.TypeStateChanged) {
		return fmt.Sprintf("%s follows the end in state %s", s.Type, v.state)
	}
	return ""
}

// paired is IV-26, IV-27, IV-28: First is directly followed by Second, and Second directly follows
// First. With Several, the event about a question may occur for several questions in a row.
type paired struct {
	First           pattern `json:"first"`
	Second          pattern `json:"second"`
	SameInteraction bool    `json:"same_interaction,omitempty"`
	Several         bool    `json:"several,omitempty"`
}

func (r *paired) bind(l *contract.Lifecycle) error {
	return errors.Join(r.First.bind(l), r.Second.bind(l))
}

func (r *paired) judge(v *view, s *step) string {
	first, second := r.First.matches(v.prev), r.Second.matches(s)
	if r.Several && (first && r.First.matches(s) && !r.SameInteraction || second && (v.group.toShow > 0 ||
		v.showsRuleless(v.prev, s))) {
		return "" // the next question; askedTogether and ruleDecides judge it
	}
	if first && !second && r.excused(v) {
		return ""
	}
	if first && !second && r.unseen(v) {
		return s.skip()
	}
	switch {
	case first && !second:
		return fmt.Sprintf("%s is followed by %s, not by %s", r.First, s.Type, r.Second)
	case second && (v.gap || s.unpaired):
		return s.skip()
	case second && !first:
		if r.SameInteraction {
			v.unpaired = s.data.InteractionID
		}
		return fmt.Sprintf("%s does not follow %s", r.Second, r.First)
	case first && r.SameInteraction:
		return r.other(v.prev, s)
	}
	return ""
}

// excused reports whether the second event may be missing, because one of the two was already
// reported as wrong.
func (r *paired) excused(v *view) bool {
	return v.prev.misplaced || r.SameInteraction && v.unpaired != 0 && v.prev.data.PendingInteractionID == v.unpaired
}

// unseen reports whether the producer may have written the question before the change of state
// where it cannot be seen: in a line that cannot be read, or before the log begins.
func (r *paired) unseen(v *view) bool {
	return r.SameInteraction && v.prev.partial && v.prev.afterGap
}

// other reports a change of state that waits for another question than the one shown.
func (r *paired) other(change, question *step) string {
	waits, shown := change.data.PendingInteractionID, question.data.InteractionID
	if waits == shown || waits == 0 { // 0: the change does not name its question; another rule reports that
		return ""
	}
	return fmt.Sprintf("the state waits for question %d, but question %d is shown", waits, shown)
}

func (r *paired) unfinished(v *view) string {
	if r.First.matches(v.prev) && !r.excused(v) && !r.unseen(v) {
		return fmt.Sprintf("%s is the last event, but %s must follow", r.First, r.Second)
	}
	return ""
}

// precedes is IV-31: between an event of Type and the event Then there are only events of the types
// in Past.
type precedes struct {
	Type string   `json:"type"`
	Past []string `json:"past"` // event types that may come between
	Then pattern  `json:"then"`
}

func (r *precedes) bind(l *contract.Lifecycle) error {
	return errors.Join(allKnown("event type", l.PayloadTypes(), r.Type), someKnown("event type that may come between",
		[]string{fcmp.TypeWarning}, r.Past...), r.Then.bind(l))
}

func (r *precedes) judge(v *view, s *step) string {
	if s.unpaired {
		return s.skip()
	}
	if prev := v.prevNonWarning; prev != nil && prev.Type == r.Type && !prev.misplaced &&
		!slices.Contains(r.Past, s.Type) && !r.Then.matches(s) {
		return fmt.Sprintf("%s is followed by %s, not by %s", r.Type, describe(s), r.Then)
	}
	return ""
}

func (r *precedes) unfinished(v *view) string {
	if prev := v.prevNonWarning; prev != nil && prev.Type == r.Type && !prev.misplaced {
		return fmt.Sprintf("%s is not followed by %s", r.Type, r.Then)
	}
	return ""
}

// leadsTo is IV-09: the next change of state after After is To.
type leadsTo struct {
	After pattern `json:"after"`
	To    pattern `json:"to"`
}

func (r *leadsTo) bind(l *contract.Lifecycle) error {
	return errors.Join(r.After.bind(l), r.To.bind(l))
}

func (r *leadsTo) judge(v *view, s *step) string {
	if s.Type == fcmp.TypeStateChanged && v.state == "" && r.After.matches(v.changed) {
		return s.skip()
	}
	if s.Type == fcmp.TypeStateChanged && r.After.matches(v.changed) && !r.To.matches(s) {
		return fmt.Sprintf("%s leads to %s: the answer was never executed", r.After, describe(s))
	}
	return ""
}

// alternates is IV-39: First occurs only while the run is not held, and Second only while it is.
type alternates struct {
	First  pattern `json:"first"`
	Second pattern `json:"second"`
}

func (r *alternates) bind(l *contract.Lifecycle) error {
	return errors.Join(allKnown("event type that begins a hold", []string{fcmp.TypeBlocked}, r.First.Type),
		allKnown("event type that ends a hold", []string{fcmp.TypeUnblocked}, r.Second.Type))
}

func (r *alternates) judge(v *view, s *step) string {
	begins, ends := r.First.matches(s), r.Second.matches(s)
	switch {
	case !begins && !ends:
		return ""
	case v.holdUnknown:
		return s.skip()
	case begins && v.held:
		return fmt.Sprintf("%s, but the run is held already", s.Type)
	case ends && !v.held:
		return fmt.Sprintf("%s, but the run is not held", s.Type)
	}
	return ""
}

// blockedAs is IV-40: the allowed decisions about a blocked run follow from its state, and a hold
// with a special choice ends only by that choice's cause. First begins a hold, Second ends it.
type blockedAs struct {
	First  string       `json:"first"`
	Second string       `json:"second"`
	Holds  []holdOfKind `json:"holds"`
}

// holdOfKind describes one kind of hold. State is the run's state when it begins. Choice and Cause
// are the choice, and the cause of run.unblocked, that only this kind has; both may be empty.
type holdOfKind struct {
	State  string `json:"state"`
	Choice string `json:"choice,omitempty"`
	Cause  string `json:"cause,omitempty"`
}

func (r *blockedAs) bind(l *contract.Lifecycle) error {
	fault := errors.Join(allKnown("event type that begins a hold", []string{fcmp.TypeBlocked}, r.First),
		allKnown("event type that ends a hold", []string{fcmp.TypeUnblocked}, r.Second))
	for _, h := range r.Holds {
		fault = errors.Join(fault, allKnown("state", l.StateNames(), h.State))
	}
	return fault
}

func (r *blockedAs) judge(v *view, s *step) string {
	switch s.Type {
	case r.First:
		return r.judgeBegin(v, s)
	case r.Second:
		return r.judgeEnd(v, s)
	}
	return ""
}

func (r *blockedAs) judgeBegin(v *view, s *step) string {
	if v.state == "" || s.unknown("choices") {
		return s.skip()
	}
	kind := r.beginsIn(v.state)
	if kind == nil {
		return fmt.Sprintf("%s in state %s", s.Type, v.state)
	}
	for _, h := range r.Holds {
		if offered := slices.Contains(s.data.Choices, h.Choice); h.Choice != "" && offered != (h == *kind) {
			return fmt.Sprintf("%s in state %s has the choices %q", s.Type, v.state, s.data.Choices)
		}
	}
	return ""
}

func (r *blockedAs) judgeEnd(v *view, s *step) string {
	switch {
	case v.holdUnknown:
		return s.skip()
	case !v.held:
		return "" // alternates reports that
	case v.choicesUnknown:
		return s.skip()
	}
	for _, h := range r.Holds {
		if offered := slices.Contains(v.choices, h.Choice); h.Cause != "" && offered != (s.data.Cause == h.Cause) {
			return fmt.Sprintf("%s by cause %s of a hold with the choices %q", s.Type, s.data.Cause, v.choices)
		}
	}
	return ""
}

// beginsIn returns the kind of hold that begins in the state; nil if none does.
func (r *blockedAs) beginsIn(state string) *holdOfKind {
	i := slices.IndexFunc(r.Holds, func(h holdOfKind) bool { return h.State == state })
	if i < 0 {
		return nil
	}
	return &r.Holds[i]
}

func describe(s *step) string {
	if s.Type == fcmp.TypeStateChanged {
		return fmt.Sprintf("%s → %s by %s", s.data.From, s.data.To, s.data.Trigger)
	}
	return s.Type
}
