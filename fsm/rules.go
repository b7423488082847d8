package fsm

import (
	"slices"
	"strings"
)

// SlotEffect says what a transition, or a wait, does to the run's execution slot.
type SlotEffect string

// The effects on the slot. Keep leaves it as it is, held or not.
const (
	SlotAcquire SlotEffect = "acquire"
	SlotKeep    SlotEffect = "keep"
	SlotRelease SlotEffect = "release"
)

// DeadlineAction says what happens when a question's deadline passes.
type DeadlineAction string

// What a waiting policy does at the deadline.
const (
	DeadlineKeepWaiting DeadlineAction = "keep_waiting"
	DeadlineAutoDecide  DeadlineAction = "auto_decide"
	DeadlineFail        DeadlineAction = "fail"
)

// Count says how often a transition emits an event type.
type Count string

// How often an emission occurs: exactly once, at most once, any number of times, at least once.
const (
	CountOne      Count = "one"
	CountOptional Count = "optional"
	CountMany     Count = "many"
	CountSome     Count = "some"
)

// Emission is one FCMP event type that a transition emits, in order.
type Emission struct {
	Type  string
	Count Count
}

// Submission is how a run begins.
type Submission struct {
	ID    string
	To    State
	Slot  SlotEffect
	Emits []Emission
}

// Transition is one row of the contract's transition table. It is the caller's, slices included.
type Transition struct {
	ID        string
	From      State
	Event     Event
	To        State
	All, None Facts // the guard: all of All hold and none of None
	Slot      SlotEffect
	// Error is the code of a run that ends by it, empty for the others; Also are codes that may be
	// named instead.
	Error Code
	Also  []Code
	Emits []Emission
}

// Allows reports whether a run may end by the transition with this code.
func (t Transition) Allows(c Code) bool {
	for _, also := range t.Also {
		if c == also {
			return true
		}
	}
	return c == t.Error
}

// GateRule is one row of the completion gate. It is the caller's, slices included.
type GateRule struct {
	ID        string
	All, None Facts
	Outcome   Event
	Error     Code
	Warnings  []Warning
}

// WaitRule is one row of the waiting policy.
type WaitRule struct {
	ID         string
	Profile    Profile
	Strict     bool
	Slot       SlotEffect
	OnDeadline DeadlineAction
}

// Decide returns the first rule of the completion gate that holds for a finished turn's facts.
// There always is one.
func Decide(f Facts) GateRule {
	for _, rule := range gate {
		if f.Has(rule.All) && f.Lacks(rule.None) {
			rule.Warnings = slices.Clone(rule.Warnings)
			return rule
		}
	}
	panic("fsm: no rule of the gate holds") // contract.Parse refuses a gate that leaves a case undecided
}

// Wait returns the waiting policy of a profile; ok is false for an unknown profile.
func Wait(p Profile, strict bool) (rule WaitRule, ok bool) {
	for _, w := range waiting {
		if w.Profile == p && w.Strict == strict {
			return w, true
		}
	}
	return WaitRule{}, false
}

// Submit returns how a run begins: its first state, the effect on its slot and its events.
func Submit() Submission {
	s := submission
	s.Emits = slices.Clone(s.Emits)
	return s
}

// Transitions returns every transition in the contract's order.
func Transitions() []Transition {
	out := make([]Transition, len(transitions))
	for i, t := range transitions {
		out[i] = t.clone()
	}
	return out
}

// permits reports whether the guard holds.
func (t *Transition) permits(f Facts) bool { return f.Has(t.All) && f.Lacks(t.None) }

func (t Transition) clone() Transition {
	t.Also, t.Emits = slices.Clone(t.Also), slices.Clone(t.Emits)
	return t
}

// Has reports whether every fact of want is in f.
func (f Facts) Has(want Facts) bool { return f&want == want }

// Lacks reports whether no fact of unwanted is in f.
func (f Facts) Lacks(unwanted Facts) bool { return f&unwanted == 0 }

// String lists the names of the facts, joined by "|".
func (f Facts) String() string {
	var names []string
	for i, name := range factNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "|")
}

// FactNamed returns the fact with the contract's name; ok is false when there is none.
func FactNamed(name string) (fact Facts, ok bool) {
	for i, known := range factNames {
		if known == name {
			return 1 << i, true
		}
	}
	return 0, false
}
