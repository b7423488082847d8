package contract

import (
	"slices"
	"strings"
)

// Facts are the facts that hold, by name.
type Facts map[string]bool

// holds reports whether the guard holds.
func (g Guard) holds(facts Facts) bool {
	for _, name := range g.All {
		if !facts[name] {
			return false
		}
	}
	for _, name := range g.None {
		if facts[name] {
			return false
		}
	}
	return true
}

// Verdict is the contract's answer to one event in one state.
type Verdict struct {
	// Transition is nil for a refusal.
	Transition *Transition
	// Code is the refusal's code, empty for a transition.
	Code string
	// Rule is the id of the transition or rejection that decided, or the ids of the cell's
	// transitions, joined by ", ", if no guard was met. It is empty for an unknown state or event.
	Rule string
}

// Next is the reference for the generated machine: it reads the contract line by line, shares
// nothing with fsm, and is simple rather than fast.
func (l *Lifecycle) Next(state, event string, facts Facts) Verdict {
	var unmet []string
	for i, t := range l.Transitions {
		if t.From != state || t.Event != event {
			continue
		}
		if t.holds(facts) {
			return Verdict{Transition: &l.Transitions[i], Rule: t.ID}
		}
		unmet = append(unmet, t.ID)
	}
	if len(unmet) > 0 {
		return Verdict{Code: "GUARD_NOT_MET", Rule: strings.Join(unmet, ", ")}
	}
	for _, r := range l.Rejections {
		if slices.Contains(r.States, state) && slices.Contains(r.Events, event) {
			return Verdict{Code: r.Error, Rule: r.ID}
		}
	}
	return Verdict{Code: "EVENT_NOT_ALLOWED"}
}

// Decide is the reference for the completion gate: the first rule that holds; ok is false if none
// does.
func (l *Lifecycle) Decide(facts Facts) (rule GateRule, ok bool) {
	for _, r := range l.Gate {
		if r.holds(facts) {
			return r, true
		}
	}
	return GateRule{}, false
}

// Wait is the reference for the waiting policy. ok is false for an unknown profile.
func (l *Lifecycle) Wait(profile string, strict bool) (rule WaitRule, ok bool) {
	for _, r := range l.Waiting {
		if r.Profile == profile && r.Strict == strict {
			return r, true
		}
	}
	return WaitRule{}, false
}

func (l *Lifecycle) HasPayload(typ string) bool {
	return slices.ContainsFunc(l.Payloads, func(p Payload) bool { return p.Type == typ })
}

// Terminal reports whether the state is terminal.
func (l *Lifecycle) Terminal(state string) bool {
	for _, s := range l.States {
		if s.Name == state {
			return s.Terminal
		}
	}
	return false
}

// Protocols are the protocol versions that events may have, the first one first. Each event has the
// lowest that can express it, so a reader of an older version reads every run that uses nothing
// new.
func (l *Lifecycle) Protocols() []string {
	all := []string{l.Protocol}
	for _, e := range l.Extensions {
		if !slices.Contains(all, e.Protocol) {
			all = append(all, e.Protocol)
		}
	}
	return all
}
