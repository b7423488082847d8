package contract

import (
	"slices"
	"strings"
)

const maxEnumerated = 20

// Mentioned lists the facts that guards mention, each once, sorted.
func Mentioned(guards ...Guard) []string {
	var facts []string
	for _, g := range guards {
		facts = append(facts, g.All...)
		facts = append(facts, g.None...)
	}
	slices.Sort(facts)
	return slices.Compact(facts)
}

// Assignments calls yield with every assignment of the facts, in a reused map, until it returns
// false.
func Assignments(facts []string, yield func(Facts) bool) {
	holds := make(Facts, len(facts))
	for bits := range uint64(1) << len(facts) {
		for i, name := range facts {
			holds[name] = bits>>i&1 == 1
		}
		if !yield(holds) {
			return
		}
	}
}

// cells: every state × event has either transitions or exactly one rejection, and no two
// transitions of one cell can both be taken, at which stateless would panic. Terminal states reject
// everything as terminal.
func (c *soundness) cells() {
	for _, s := range c.l.States {
		for _, e := range c.l.Events {
			c.cell(s, e.Name)
		}
	}
}

func (c *soundness) cell(s State, event string) {
	var taken []Transition
	for _, t := range c.l.Transitions {
		if t.From == s.Name && t.Event == event {
			taken = append(taken, t)
		}
	}
	var refused []Rejection
	for _, r := range c.l.Rejections {
		if slices.Contains(r.States, s.Name) && slices.Contains(r.Events, event) {
			refused = append(refused, r)
		}
	}
	switch {
	case len(taken) > 0 && len(refused) > 0:
		c.faultf("%s × %s: both allowed by %s and rejected by %s", s.Name, event, taken[0].ID, refused[0].ID)
	case len(taken) == 0 && len(refused) != 1:
		c.faultf("%s × %s: no transition and %d rejections, exactly one is needed", s.Name, event, len(refused))
	case s.Terminal && len(taken) > 0:
		c.faultf("%s: leaves the terminal state %s", taken[0].ID, s.Name)
	case len(refused) == 1 && s.Terminal != (refused[0].Error == "RUN_TERMINAL"):
		c.faultf("%s: %s says the wrong thing about state %s", refused[0].ID, refused[0].Error, s.Name)
	}
	c.overlaps(taken)
}

func (c *soundness) overlaps(taken []Transition) {
	var guards []Guard
	for _, t := range taken {
		guards = append(guards, t.Guard)
	}
	facts := Mentioned(guards...)
	if len(facts) > maxEnumerated {
		c.faultf("%s: guards mention %d facts, at most %d can be enumerated", taken[0].ID, len(facts), maxEnumerated)
		return
	}
	Assignments(facts, func(holds Facts) bool {
		var open []string
		for _, t := range taken {
			if t.holds(holds) {
				open = append(open, t.ID)
			}
		}
		if len(open) > 1 {
			c.faultf("%s: can be taken at once", strings.Join(open, " and "))
		}
		return len(open) <= 1
	})
}

// gate: every case is decided, every rule decides some case, and the running state accepts every
// decision.
func (c *soundness) gate() {
	l := c.l
	var guards []Guard
	for _, r := range l.Gate {
		guards = append(guards, r.Guard)
		if fails := r.Outcome == "turn.failed"; fails != (r.Error != "") {
			c.faultf("%s: an error code and the outcome turn.failed belong together", r.ID)
		}
	}
	for _, t := range l.Transitions {
		if t.From == "running" && slices.ContainsFunc(l.Gate, func(r GateRule) bool { return r.Outcome == t.Event }) {
			guards = append(guards, t.Guard)
		}
	}
	facts := Mentioned(guards...)
	if len(facts) > maxEnumerated {
		c.faultf("gate: mentions %d facts, at most %d can be enumerated", len(facts), maxEnumerated)
		return
	}
	reached := map[string]bool{}
	total, accepted := true, true
	Assignments(facts, func(holds Facts) bool {
		r, ok := l.Decide(holds)
		if !ok {
			total = false
			return true
		}
		reached[r.ID] = true
		v := l.Next("running", r.Outcome, holds)
		if accepted && v.Transition == nil {
			accepted = false
			c.faultf("%s: running refuses its outcome %s (%s)", r.ID, r.Outcome, v.Code)
		}
		if r.Error != "" && v.Transition != nil && !v.Transition.Allows(r.Error) {
			accepted = false
			c.faultf("%s: %s may not end with %s", r.ID, v.Transition.ID, r.Error)
		}
		return accepted
	})
	if !total {
		c.faultf("gate: some turns are not decided")
	}
	if !accepted {
		return
	}
	for _, r := range l.Gate {
		if !reached[r.ID] {
			c.faultf("%s: can never decide", r.ID)
		}
	}
}

// Allows reports whether a run may end by the transition with the code.
func (t Transition) Allows(code string) bool {
	return t.Error == code || slices.Contains(t.Also, code)
}
