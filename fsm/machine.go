package fsm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/qmuntal/stateless"
)

// machine is the one machine of the program. It has no state of its own and is never changed after
// it is configured: the state of a call lies in the call, which travels as the context. Immediate
// firing is what keeps concurrent calls apart; the library's default queues them and answers one
// caller with another's result.
var machine = newMachine()

// call is one question to the machine.
type call struct {
	// It is the context of the machine, which has no other way to hand a value to a guard.
	context.Context //nolint:containedctx // see above

	state any // a State, which the library takes as any: so it is boxed once
	facts Facts
	taken int // index of the transition whose guard held; of no meaning when the machine took none
}

// calls holds calls that are over, to be used again.
var calls = sync.Pool{New: func() any { return &call{Context: context.Background()} }}

// boxed are the known states, in the order of knownStates, as the library takes them.
var boxed = func() (all []stateless.State) {
	for _, s := range knownStates {
		all = append(all, s)
	}
	return all
}()

// errUnhandled is the machine's answer when no guard holds.
var errUnhandled = errors.New("fsm: unhandled")

func newMachine() *stateless.StateMachine {
	m := stateless.NewStateMachineWithExternalStorage(
		func(ctx context.Context) (stateless.State, error) {
			if c, ok := ctx.(*call); ok {
				return c.state, nil
			}
			return submission.To, nil // somebody draws the machine; no run is concerned
		},
		func(ctx context.Context, to stateless.State) error {
			ctx.(*call).state = to //nolint:forcetypeassert // the machine is fired by Next alone
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

// when is the guard of a transition. It notes that it held, because states and trigger do not tell
// which of a cell's transitions was taken; the contract proves that at most one can be.
func when(id string) func(context.Context, ...any) bool {
	index := slices.IndexFunc(transitions[:], func(t Transition) bool { return t.ID == id })
	t := &transitions[index]
	return func(ctx context.Context, _ ...any) bool {
		c := ctx.(*call) //nolint:forcetypeassert // the machine is fired by Next alone
		if !c.facts.Has(t.All) || !c.facts.Lacks(t.None) {
			return false
		}
		c.taken = index
		return true
	}
}

// nothing is the action of an internal transition: effects are data.
func nothing(context.Context, ...any) error { return nil }

// Next returns the transition that the event causes in the state when the facts hold, or a *Refusal
// (A3, A7).
func Next(s State, e Event, f Facts) (Transition, error) {
	known := slices.Index(knownStates, s)
	if known < 0 { // for an unknown state, stateless would keep a configuration for ever
		return Transition{}, &Refusal{State: s, Event: e, Facts: f, Code: CodeEventNotAllowed}
	}
	c := calls.Get().(*call) //nolint:forcetypeassert // there is nothing else in it
	defer calls.Put(c)
	c.state, c.facts = boxed[known], f
	if err := machine.FireCtx(c, e); err != nil {
		return Transition{}, refuse(s, e, f)
	}
	return transitions[c.taken].clone(), nil
}

// Decide returns the first rule of the completion gate that holds for a finished turn's facts
// (B1–B11). There always is one.
func Decide(f Facts) GateRule {
	for _, rule := range gate {
		if f.Has(rule.All) && f.Lacks(rule.None) {
			rule.Warnings = slices.Clone(rule.Warnings)
			return rule
		}
	}
	panic("fsm: no rule of the gate holds") // contract.Parse refuses a gate that leaves a case undecided
}

// Wait returns the waiting policy of a profile (D1–D4); ok is false for an unknown profile.
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

func (t Transition) clone() Transition {
	t.Also, t.Emits = slices.Clone(t.Also), slices.Clone(t.Emits)
	return t
}

// Refusal says that a state does not allow an event, or that its guard does not hold (A7). Nothing
// may be written then.
type Refusal struct {
	State State
	Event Event
	Facts Facts
	Code  Code // RUN_TERMINAL, EVENT_NOT_ALLOWED or GUARD_NOT_MET
	// Rule is the contract's id of the rejection, or of the transitions whose guards do not hold,
	// joined by ", ". Empty for a state or event that the contract does not know.
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
