package explore

import (
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/contract"
)

// Coverage says which rules of the contract and which results of the protocol were reached at least
// once.
type Coverage struct {
	rules   map[string]bool
	results [results]bool
}

func newCoverage() Coverage { return Coverage{rules: map[string]bool{}} }

func (c *Coverage) addRule(id string) {
	if !c.rules[id] {
		c.rules[id] = true
	}
}

func (c *Coverage) addResult(r result) { c.results[r] = true }

// Add adds what another exploration reached.
func (c *Coverage) Add(o Coverage) {
	if c.rules == nil {
		c.rules = map[string]bool{}
	}
	for id := range o.rules {
		c.rules[id] = true
	}
	for i, is := range o.results {
		c.results[i] = c.results[i] || is
	}
}

// Explained has the rules that the library never uses, each with the reason. Other hosts and stores
// use them.
var Explained = map[string]string{
	"TR-18": "a queued resumable run has no owner, so recovery does not meet it; its next turn finds the session " +
		"gone, and fails by TR-05",
}

// Missing lists the rules that were not reached although they should have been, and the explained
// rules that were reached although they should not have been.
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
	for i, is := range c.results {
		if i > int(stored) && !is {
			out = append(out, fmt.Sprintf("no step ever had the result %q", resultNames[i]))
		}
	}
	slices.Sort(out)
	return out
}

// refusalID names a combination of state and event that a rule refuses.
func refusalID(rule, state, event string) string { return rule + " " + state + " " + event }
