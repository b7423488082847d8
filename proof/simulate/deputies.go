package simulate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// This file has people who answer for absent people, as a directory says by date (N10), and runs whose
// submitter may not decide. The judges of audiences and of votes are in waited.go and votes.go.

// directory is the directory of a world's people. Nil: they have none.
type directory struct {
	deputies map[string]interaction.Principal // by deputy
	// The directory cannot be read from the first time to the second one.
	down [2]time.Time
}

// The people for whom deputies may act.
const (
	absentBoss = "boss.away" // a member of bosses
	absentIll  = "somebody who is ill"
)

// planDeputies gives the people of some worlds a directory. Like planHolds, it has a separate
// generator. A deputy's approval covers no later calls.
func (p *plan) planDeputies() {
	r := rand.New(rand.NewPCG(uint64(p.lease)<<20|uint64(p.peace), uint64(p.poll)<<20))
	if p.memory.lasts > 0 || r.IntN(6) > 0 {
		return
	}
	d := &directory{deputies: make(map[string]interaction.Principal)}
	if r.IntN(3) == 0 {
		d.down[0] = epoch.Add(seconds(r, 0, 40))
		d.down[1] = d.down[0].Add(seconds(r, 1, 20))
	}
	p.directory = d
	for _, run := range p.runs {
		for i, person := range run.repliers {
			if r.IntN(4) == 0 || person.claims.often > 0 {
				continue
			}
			found := []interaction.Principal{{ID: absentIll}, {ID: absentBoss, Groups: []string{bosses}}}
			if other := run.repliers[(i+1)%len(run.repliers)]; other != person {
				found = append(found, interaction.Principal{ID: other.name, Groups: other.groups})
			}
			of := found[r.IntN(len(found))]
			if r.IntN(2) == 0 {
				of.From = epoch.Add(seconds(r, 0, 30))
			}
			if r.IntN(2) == 0 {
				of.Until = epoch.Add(seconds(r, 30, 80))
			}
			d.deputies[person.name] = of
		}
		run.excludeSubmitter(r)
	}
}

// excludeSubmitter lets a respondent be the submitter, who may not decide.
func (p *runPlan) excludeSubmitter(r *rand.Rand) {
	if len(p.repliers) < 2 || r.IntN(2) == 0 {
		return
	}
	submitter := p.repliers[r.IntN(len(p.repliers))].name
	var waits []*interaction.Wait
	for i := range p.turns {
		waits = append(waits, p.turns[i].waits...)
	}
	ask := lifecycle.AskPolicy{}
	if p.spec.Ask != nil {
		ask = *p.spec.Ask
	}
	for _, wait := range append(waits, ask.Wait) {
		if wait != nil && slices.ContainsFunc(wait.Steps, func(s interaction.WaitStep) bool {
			return s.To != nil && slices.Contains(s.To.Users, submitter)
		}) {
			return // that step would ask no one
		}
	}
	ask.NotSubmitter = true
	p.spec.Submitter, p.spec.Ask = submitter, &ask
}

// Principals implements lifecycle.Directory.
func (d *directory) Principals(_ context.Context, id string, at time.Time) ([]interaction.Principal, error) {
	if d.unreadable(at, at) {
		return nil, errors.New("the directory cannot be read")
	}
	if p, ok := d.deputies[id]; ok {
		return []interaction.Principal{p}, nil
	}
	return nil, nil
}

// unreadable reports whether the directory cannot be read at a time from the first one to the second.
func (d *directory) unreadable(from, until time.Time) bool {
	return from.Before(d.down[1]) && !until.Before(d.down[0])
}

// acts reports whether the person may act for the other one at that time.
func (d *directory) acts(person, other string, at time.Time) bool {
	if d == nil {
		return false
	}
	p, ok := d.deputies[person]
	return ok && p.ID == other && p.Active(at)
}

// stands returns the absent person for whom the respondent answers the question; empty: for themselves.
func (d *directory) stands(plan *replierPlan, number int) string {
	if d == nil || rand.New(rand.NewPCG(plan.seed, uint64(1<<22+number))).IntN(3) == 0 {
		return ""
	}
	return d.deputies[plan.name].ID
}

// refusedAsDeputy judges a refusal of a call from the first time to the second one.
func (w *world) refusedAsDeputy(a interaction.Actor, from, until time.Time) {
	d := w.plan.directory
	switch {
	case d.unreadable(from, until):
		w.saw("a deputy was refused since the directory could not be read")
	case d.acts(a.ID, a.For, from) && d.acts(a.ID, a.For, until.Add(time.Second)): // clocks are off by less
		w.fault(fmt.Sprintf("%s was told that they may not act for %s", a.ID, a.For))
	default:
		w.saw("a deputy was refused before or after their time")
	}
}

// admitted explains why the actor must not have answered or voted at that time; empty if they may.
func (x *waits) admitted(q *asked, actor, absent string, at time.Time) string {
	name, excluded := actor, actor != "" && actor == x.plan.spec.Submitter
	groups := x.plan.groups(name)
	if absent != "" {
		if !x.world.plan.directory.acts(actor, absent, at) {
			return fmt.Sprintf("%s has acted for %s on question %d, and is not their deputy", actor, absent, q.number)
		}
		name, groups = absent, x.world.plan.directory.deputies[actor].Groups
		x.world.saw("a deputy answered")
		if !q.admits(actor, x.plan.groups(actor), len(q.put)) {
			x.world.saw("a deputy answered what only the absent person was asked")
		}
	}
	if excluded || name == x.plan.spec.Submitter && name != "" {
		return fmt.Sprintf("%s for %q has decided question %d, and is the submitter", actor, absent, q.number)
	}
	if !q.admits(name, groups, len(q.put)) {
		return fmt.Sprintf("%s for %q has answered question %d, and others are asked", actor, absent, q.number)
	}
	return ""
}

// counted reports whether an earlier vote already counts for the person or the principal.
func counted(v *interaction.Vote, earlier []interaction.Vote) bool {
	return slices.ContainsFunc(earlier, func(o interaction.Vote) bool {
		return v.Actor == o.Actor || v.Actor == o.For || v.For != "" && (v.For == o.Actor || v.For == o.For)
	})
}
