package contract

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Check returns all faults of the contract, joined, or nil. Parse calls it.
func (l *Lifecycle) Check() error {
	c := &soundness{l: l}
	c.ids()
	c.names()
	c.cells()
	c.gate()
	c.waiting()
	c.endings()
	c.payloads()
	return errors.Join(c.faults...)
}

// soundness collects faults. Each method is one promise.
type soundness struct {
	l      *Lifecycle
	faults []error
}

func (c *soundness) faultf(format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf("%w: %s", ErrContract, fmt.Sprintf(format, args...)))
}

func (c *soundness) requireDeclared(where, what string, names []string, wanted ...string) {
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			c.faultf("%s: there is no %s %q", where, what, name)
		}
	}
}

// names: every reference exists, and no list has duplicates.
func (c *soundness) names() {
	l := c.l
	states, events, facts, errorCodes, types := l.StateNames(), Names(l.Events), Names(l.Facts), Codes(l.Errors),
		l.PayloadTypes()
	guard := func(id string, g Guard) {
		c.requireDeclared(id, "fact", facts, g.All...)
		c.requireDeclared(id, "fact", facts, g.None...)
		for _, name := range slices.Concat(g.All, g.None) {
			if n := count(g.All, name) + count(g.None, name); n > 1 {
				c.faultf("%s: fact %q occurs %d times in one guard", id, name, n)
			}
		}
	}
	emits := func(id string, emissions []Emission) {
		for _, e := range emissions {
			c.requireDeclared(id, "event type", types, e.Type)
		}
	}
	c.requireDeclared(l.Submission.ID, "state", states, l.Submission.To)
	emits(l.Submission.ID, l.Submission.Emits)
	for _, t := range l.Transitions {
		c.requireDeclared(t.ID, "state", states, t.From, t.To)
		c.requireDeclared(t.ID, "event", events, t.Event)
		c.requireDeclared(t.ID, "error code", errorCodes, t.Also...)
		if t.Error != "" {
			c.requireDeclared(t.ID, "error code", errorCodes, t.Error)
		}
		guard(t.ID, t.Guard)
		emits(t.ID, t.Emits)
	}
	for _, r := range l.Rejections {
		c.requireDeclared(r.ID, "state", states, r.States...)
		c.requireDeclared(r.ID, "event", events, r.Events...)
		c.requireDeclared(r.ID, "error code", errorCodes, r.Error)
	}
	for _, r := range l.Gate {
		c.requireDeclared(r.ID, "event", events, r.Outcome)
		c.requireDeclared(r.ID, "warning code", Codes(l.Warnings), r.Warnings...)
		if r.Error != "" {
			c.requireDeclared(r.ID, "error code", errorCodes, r.Error)
		}
		guard(r.ID, r.Guard)
	}
	for _, w := range l.Waiting {
		c.requireDeclared(w.ID, "profile", Names(l.Profiles), w.Profile)
	}
}

// ids: every id is used once, and every name within its list.
func (c *soundness) ids() {
	seen := map[string]bool{}
	id := func(id string) {
		if seen[id] {
			c.faultf("id %s is used twice", id)
		}
		seen[id] = true
	}
	unique := func(what string, list []string) {
		for _, name := range list {
			if count(list, name) > 1 {
				c.faultf("%s %q is defined twice", what, name)
			}
		}
	}
	l := c.l
	for _, group := range [][]Name{l.Modes, l.Profiles, l.Events, l.Facts} {
		for _, n := range group {
			id(n.ID)
		}
		unique("name", Names(group))
	}
	for _, s := range l.States {
		id(s.ID)
	}
	unique("state", l.StateNames())
	id(l.Submission.ID)
	for _, t := range l.Transitions {
		id(t.ID)
	}
	for _, r := range l.Rejections {
		id(r.ID)
	}
	for _, r := range l.Gate {
		id(r.ID)
	}
	for _, w := range l.Waiting {
		id(w.ID)
	}
	for _, code := range slices.Concat(l.Errors, l.Warnings) {
		id(code.ID)
	}
	unique("code", Codes(slices.Concat(l.Errors, l.Warnings)))
	id(l.OwnWarnings.ID)
	for _, code := range Codes(l.Warnings) {
		if strings.HasPrefix(code, l.OwnWarnings.Prefix) {
			c.faultf("%s: the warning code %s is not an engine's own", l.OwnWarnings.ID, code)
		}
	}
	for _, p := range l.Payloads {
		id(p.ID)
	}
	unique("event type", l.PayloadTypes())
	for _, e := range l.Extensions {
		id(e.ID)
	}
	for _, v := range l.Invariants {
		id(v.ID)
	}
}

func (l *Lifecycle) StateNames() []string {
	var out []string
	for _, s := range l.States {
		out = append(out, s.Name)
	}
	return out
}

func (l *Lifecycle) PayloadTypes() []string {
	var out []string
	for _, p := range l.Payloads {
		out = append(out, p.Type)
	}
	return out
}

func Names(list []Name) []string {
	var out []string
	for _, n := range list {
		out = append(out, n.Name)
	}
	return out
}

func Codes(list []Code) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.Code)
	}
	return out
}

func count(list []string, name string) int {
	n := 0
	for _, item := range list {
		if item == name {
			n++
		}
	}
	return n
}
