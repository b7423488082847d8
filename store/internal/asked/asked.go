// Package asked derives the audience of a run's open questions in the form that stores index: one
// entry per named person or group and run. A question for everybody needs no entry: the index of
// waiting runs finds it.
//
// The index only finds runs. The record decides who may answer (Audience.Admits).
package asked

import (
	"slices"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// A principal is the name of a person or a group, after a letter for its kind.
const (
	person = "u"
	group  = "g"
)

// Anyone reports whether an open question of the run is for everybody.
func Anyone(r *store.Run) bool {
	for i := range r.Open {
		if r.Open[i].To.Open() {
			return true
		}
	}
	return len(r.Open) == 0
}

// Principals returns whom the run's open questions name, in order, each once; nil for a run whose
// questions are for everybody.
func Principals(r *store.Run) (all []string) {
	for i := range r.Open {
		all = appendNamed(all, &r.Open[i])
	}
	if len(all) > 1 {
		slices.Sort(all)
		all = slices.Compact(all)
	}
	return all
}

func appendNamed(all []string, q *interaction.Question) []string {
	if q.To.Open() {
		return all
	}
	for _, name := range q.To.Users {
		all = append(all, person+name)
	}
	for _, name := range q.To.Groups {
		all = append(all, group+name)
	}
	return all
}

// Of returns an actor's principals without duplicates, and the principals of people for whom the actor
// may act. Only an actor with an ID may answer a question that is not for everybody.
func Of(a *interaction.Actor) []string {
	if a.ID == "" {
		return nil
	}
	all := make([]string, 0, 1+len(a.Groups))
	all = append(all, person+a.ID)
	for _, name := range a.Groups {
		all = append(all, group+name)
	}
	for i := range a.Principals {
		p := &a.Principals[i]
		all = append(all, person+p.ID)
		for _, name := range p.Groups {
			all = append(all, group+name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Changes reports whether the commit can change the entries of its run: whether a question that is
// open or settled by the commit has an audience or a Wait. No other question can have entries: a
// step of a wait and a reassignment may change an audience, but always leave one.
func Changes(c *store.Commit) bool {
	named := func(q *interaction.Question) bool { return q.To != nil || q.Wait != nil }
	r := &c.Run
	for i := range r.Open {
		if named(&r.Open[i]) {
			return true
		}
	}
	for i := range c.Settled {
		if named(&c.Settled[i].Question) {
			return true
		}
	}
	return false
}
