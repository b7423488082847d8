package fsm

import (
	"slices"
	"strings"
)

// SlotEffect is the effect of a transition or a wait on the run's execution slot.
type SlotEffect string

// The effects on the slot. Keep leaves the slot unchanged, held or not.
const (
	SlotAcquire SlotEffect = "acquire"
	SlotKeep    SlotEffect = "keep"
	SlotRelease SlotEffect = "release"
)

// DeadlineAction is the action at a question's deadline.
type DeadlineAction string

// The actions of a waiting policy at the deadline.
const (
	DeadlineKeepWaiting DeadlineAction = "keep_waiting"
	DeadlineAutoDecide  DeadlineAction = "auto_decide"
	DeadlineFail        DeadlineAction = "fail"
)

// Count is how often a transition emits an event type.
type Count string

// Exactly once, at most once, any number of times, at least once.
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

// Submission is the start of a run.
type Submission struct {
	ID    string
	To    State
	Slot  SlotEffect
	Emits []Emission
}

// Transition is one row of the contract's transition table. The caller owns it, slices included.
type Transition struct {
	ID        string
	From      State
	Event     Event
	To        State
	All, None Facts // the guard: all of All hold and none of None
	Slot      SlotEffect
	// Error is the code of a run that ends by it, empty for others; Also lists alternative codes.
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

// GateRule is one row of the completion gate. The caller owns it, slices included.
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

// Decide returns the first rule of the completion gate that holds for a finished turn's facts. One
// always does.
func Decide(f Facts) GateRule {
	for _, rule := range gate {
		if f.Has(rule.All) && f.lacks(rule.None) {
			rule.Warnings = slices.Clone(rule.Warnings)
			return rule
		}
	}
	panic("fsm: no rule of the gate holds") // contract.Parse rejects a gate with an undecided case
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

// Submit returns a run's first state, the effect on its slot and its events.
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
func (t *Transition) permits(f Facts) bool { return f.Has(t.All) && f.lacks(t.None) }

func (t Transition) clone() Transition {
	t.Also, t.Emits = slices.Clone(t.Also), slices.Clone(t.Emits)
	return t
}

// Has reports whether every fact of want is in f.
func (f Facts) Has(want Facts) bool { return f&want == want }

// lacks reports whether no fact of unwanted is in f.
func (f Facts) lacks(unwanted Facts) bool { return f&unwanted == 0 }

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

// FactNamed returns the fact with the contract's name; ok is false if there is no such fact.
func FactNamed(name string) (fact Facts, ok bool) {
	for i, known := range factNames {
		if known == name {
			return 1 << i, true
		}
	}
	return 0, false
}
