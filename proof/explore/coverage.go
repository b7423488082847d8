package explore

import (
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/contract"
)

// Coverage says what was reached at least once.
type Coverage struct {
	rules map[string]bool
	cames [cameOuts]bool
}

func newCoverage() Coverage { return Coverage{rules: map[string]bool{}} }

func (c *Coverage) rule(id string) {
	if !c.rules[id] {
		c.rules[id] = true
	}
}

func (c *Coverage) came(how came) { c.cames[how] = true }

// Add joins what another exploration has reached.
func (c *Coverage) Add(o Coverage) {
	if c.rules == nil {
		c.rules = map[string]bool{}
	}
	for id := range o.rules {
		c.rules[id] = true
	}
	for i, is := range o.cames {
		c.cames[i] = c.cames[i] || is
	}
}

// Explained are rules that the library never uses, each with the reason. They stand in the contract
// for hosts and stores that do.
var Explained = map[string]string{
	"TR-18": "a queued resumable run has no owner, so recovery does not meet it; its next turn finds the session " +
		"gone, and fails by TR-05",
}

// Missing lists what was never reached and should have been, and what is explained and was reached
// nevertheless.
func (c *Coverage) Missing(l *contract.Lifecycle) []string {
	var out []string
	want := func(id, what string) {
		switch reason, explained := Explained[id]; {
		case !c.rules[id] && !explained:
			out = append(out, id+" ("+what+") was never reached")
		case c.rules[id] && explained:
			out = append(out, id+" was reached, though "+reason)
		}
	}
	for _, t := range l.Transitions {
		want(t.ID, t.From+" by "+t.Event)
	}
	for _, r := range l.Rejections {
		for _, s := range r.States {
			for _, e := range r.Events {
				want(refusalID(r.ID, s, e), "refuses "+e+" in "+s)
			}
		}
	}
	for _, g := range l.Gate {
		want(g.ID, "gives "+g.Outcome)
	}
	for _, w := range l.Waiting {
		want(w.ID, "does "+w.OnDeadline)
	}
	for i, is := range c.cames {
		if i > int(stored) && !is {
			out = append(out, fmt.Sprintf("nothing ever came out as %q", cameNames[i]))
		}
	}
	slices.Sort(out)
	return out
}

// refusalID names one cell of a rejection.
func refusalID(rule, state, event string) string { return rule + " " + state + " " + event }
