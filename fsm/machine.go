package fsm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/qmuntal/stateless"
)

// machines has a machine for each state with outgoing events. A machine never changes state: Next
// takes the run's stored state and returns the next one. Calls share no mutable data, so any number
// of them can fire the same machine concurrently. This needs immediate firing: the library's
// default queues concurrent events, and returns the error of one to another's caller.
var machines = func() map[State]*stateless.StateMachine {
	all := make(map[State]*stateless.StateMachine)
	for _, s := range knownStates {
		if !s.Terminal() {
			all[s] = newMachine(s)
		}
	}
	return all
}()

// triggers has the events in the library's type. The conversion allocates, so it happens once.
var triggers = func() map[Event]stateless.Trigger {
	all := make(map[Event]stateless.Trigger)
	for _, e := range Events() {
		all[e] = e
	}
	return all
}()

// firing is the argument of a machine: facts for its guards, and a place for the next state.
type firing struct {
	facts Facts
	to    State
	self  [1]any // the firing as the library's argument, in the same allocation
}

// errUnhandled is the machine's result if no guard holds.
var errUnhandled = errors.New("fsm: unhandled")

func newMachine(s State) *stateless.StateMachine {
	var state stateless.State = s
	m := stateless.NewStateMachineWithExternalStorageAndArgs(
		func(context.Context) (stateless.State, []any, error) { return state, nil, nil },
		func(_ context.Context, to stateless.State, args ...any) error {
			args[0].(*firing).to = to.(State) //nolint:forcetypeassert // only Next fires machines
			return nil
		},
		stateless.FiringImmediate,
	)
	m.OnUnhandledTrigger(func(context.Context, stateless.State, stateless.Trigger, []string) error {
		return errUnhandled
	})
	configure(m)
	return m
}

// when is the guard of a transition.
func when(id string) stateless.GuardFunc {
	t := &transitions[slices.IndexFunc(transitions[:], func(t Transition) bool { return t.ID == id })]
	return func(_ context.Context, args ...any) bool {
		return t.permits(args[0].(*firing).facts) //nolint:forcetypeassert // only Next fires machines
	}
}

// nothing is the action of a transition that keeps the state: effects are data.
func nothing(context.Context, ...any) error { return nil }

// Next returns the transition that the event causes in the state when the facts hold, or a *Refusal.
func Next(s State, e Event, f Facts) (Transition, error) {
	m, trigger := machines[s], triggers[e]
	if m == nil || trigger == nil {
		return Transition{}, refuse(s, e, f)
	}
	call := &firing{facts: f, to: s}
	call.self[0] = call
	if err := m.Fire(trigger, call.self[:]...); err != nil {
		return Transition{}, refuse(s, e, f)
	}
	// The machine returns only the next state. The contract allows at most one transition to it whose
	// guard holds.
	for i := range transitions {
		if t := &transitions[i]; t.From == s && t.Event == e && t.To == call.to && t.permits(f) {
			return t.clone(), nil
		}
	}
	panic("fsm: the machine took a transition that is not in the table")
}

// Refusal reports that a state does not allow an event, or that its guard does not hold. Nothing
// may be written then.
type Refusal struct {
	State State
	Event Event
	Facts Facts
	Code  Code // RUN_TERMINAL, EVENT_NOT_ALLOWED or GUARD_NOT_MET
	// Rule is the contract's id of the rejection, or of the transitions whose guards do not hold,
	// joined by ", ". Empty for an unknown state or event.
	Rule string
}

func (r *Refusal) Error() string {
	text := fmt.Sprintf("fsm: %s refused in state %s (%s", r.Event, r.State, r.Code)
	if r.Rule != "" {
		text += " by " + r.Rule
	}
	return text + ")"
}

// rejection refuses each of its events in each of its states.
type rejection struct {
	id     string
	code   Code
	states []State
	events []Event
}

var knownStates = States()

func refuse(s State, e Event, f Facts) *Refusal {
	r := &Refusal{State: s, Event: e, Facts: f, Code: CodeEventNotAllowed}
	for _, no := range rejections {
		if slices.Contains(no.states, s) && slices.Contains(no.events, e) {
			r.Code, r.Rule = no.code, no.id
			return r
		}
	}
	var unmet []string
	for i := range transitions {
		if t := &transitions[i]; t.From == s && t.Event == e {
			unmet = append(unmet, t.ID)
		}
	}
	if len(unmet) > 0 {
		r.Code, r.Rule = CodeGuardNotMet, strings.Join(unmet, ", ")
	}
	return r
}
