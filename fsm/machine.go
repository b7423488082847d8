// Package fsm is the lifecycle of a run as a pure function (placeholder until generated on stateless).
package fsm

import "fmt"

// SlotEffect says what a transition does to the run's execution slot.
type SlotEffect string

// The effects a transition can have on the slot.
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

// How often an emission occurs.
const (
	CountOne      Count = "one"
	CountOptional Count = "optional"
	CountMany     Count = "many"
)

// Emission is one FCMP event type that a transition emits, in order.
type Emission struct {
	Type  string
	Count Count
}

// Transition is one row of the contract's transition table.
type Transition struct {
	ID        string
	From      State
	Event     Event
	To        State
	All, None Facts
	Slot      SlotEffect
	Error     Code
	Emits     []Emission
}

// GateRule is one row of the completion gate.
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

// Has reports whether every fact of want is in f.
func (f Facts) Has(want Facts) bool { return f&want == want }

// Refusal says that a state does not allow an event, or that its guard does not hold (A7).
type Refusal struct {
	State State
	Event Event
	Facts Facts
	Code  Code   // RUN_TERMINAL, EVENT_NOT_ALLOWED or GUARD_NOT_MET
	Rule  string // the contract's rejection or transition id
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("fsm: %s refused in state %s (%s)", r.Event, r.State, r.Code)
}

// Next returns the transition that the event causes, or a *Refusal.
func Next(s State, e Event, f Facts) (Transition, error) {
	code := CodeEventNotAllowed
	for i := range transitions {
		t := &transitions[i]
		if t.From == s && t.Event == e {
			if f.Has(t.All) && f&t.None == 0 {
				return *t, nil
			}
			code = CodeGuardNotMet
		}
	}
	if s.Terminal() {
		code = CodeRunTerminal
	}
	return Transition{}, &Refusal{State: s, Event: e, Facts: f, Code: code}
}

// Decide returns the completion gate's verdict on a finished turn's facts.
func Decide(f Facts) GateRule {
	for i := range gate {
		if g := &gate[i]; f.Has(g.All) && f&g.None == 0 {
			return *g
		}
	}
	panic("fsm: the gate is not total")
}

// Wait returns the waiting policy of a profile; ok is false for an unknown profile.
func Wait(p Profile, strict bool) (rule WaitRule, ok bool) {
	for i := range waiting {
		if w := &waiting[i]; w.Profile == p && w.Strict == strict {
			return *w, true
		}
	}
	return WaitRule{}, false
}
