package simulate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/lifecycle"
)

// This file has people who claim questions before they reply, and release some of them (K5). The
// events show that no one else answers or claims a question in the meantime (IV-47).

// claimPlan is how a person who answers questions claims them first.
type claimPlan struct {
	seed   uint64
	often  int           // of a thousand questions that the person is about to answer
	lasts  time.Duration // how long a claim is at most
	thinks time.Duration // the longest time between the claim and the person's next action
}

// planClaims lets people of some runs claim questions. Like planHolds, it has a separate generator.
func (p *plan) planClaims() {
	r := rand.New(rand.NewPCG(uint64(p.peace), uint64(p.lease)<<20|uint64(p.poll)))
	for _, run := range p.runs {
		if r.IntN(3) > 0 {
			continue
		}
		for _, person := range run.repliers {
			person.claims = claimPlan{r.Uint64(), 200 + r.IntN(800), millis(r, 1000, 60_000), millis(r, 100, 20_000)}
		}
	}
}

// claims lets the person claim the question before they reply to it, if planned. It reports whether
// they continue to the reply: not if another person has claimed the question, or they release it.
func (p *person) claims(ctx context.Context, plan *replierPlan, r *rand.Rand, id int) bool {
	if !chance(r, plan.claims.often) || p.run.need(id).several() {
		return true
	}
	mine := p.As(lifecycle.Actor{ID: plan.name, Groups: plan.groups})
	until := clock{p.view}.Now().Add(1 + time.Duration(r.Int64N(int64(plan.claims.lasts))))
	if !p.changes(id, "claims", mine.Claim(ctx, p.run.spec.ID, id, until)) {
		return false
	}
	p.claimed = append(p.claimed, claimOf{id, plan.name})
	if !p.pause(time.Duration(1 + r.Int64N(int64(plan.claims.thinks)))) {
		return false
	}
	if r.IntN(4) > 0 {
		return true
	}
	p.changes(id, "gives back", mine.Release(ctx, p.run.spec.ID, id))
	return false
}

// claimOf is a claim acknowledged to its person.
type claimOf struct {
	question int
	by       string
}

// claimed reports an acknowledged claim that is not in the events.
func (e *ending) claimed(*ending) string {
	logged := make(map[claimOf]int)
	for _, event := range e.log {
		var c fcmp.Changed
		if event.Type == fcmp.TypeChanged && event.Decode(&c) == nil && c.Change == "claim" {
			logged[claimOf{c.InteractionID, c.Actor}]++
		}
	}
	for _, p := range e.people {
		for _, c := range p.claimed {
			if logged[c]--; logged[c] < 0 {
				return fmt.Sprintf("%s was told that they have claimed question %d, and no event says so", c.by,
					c.question)
			}
		}
	}
	return ""
}

// changes counts how a claim came out, or its return, and reports whether it was made.
func (p *person) changes(id int, what string, err error) bool {
	w := p.world
	var wrong *lifecycle.ArgumentError
	switch {
	case err == nil:
		w.saw("somebody " + what + " a question")
		return true
	case unclear(err):
		w.saw("somebody never learned whether they had claimed a question")
	case errors.Is(err, lifecycle.ErrClaimed):
		w.saw("somebody else had claimed the question")
	case errors.Is(err, lifecycle.ErrNotAsked), errors.Is(err, lifecycle.ErrSettled),
		errors.Is(err, lifecycle.ErrNotWaiting):
		w.saw("a question was claimed too late, or by somebody who is not asked")
	case errors.As(err, &wrong): // the time of the claim is over before it is made
		w.saw("a claim was over before it was made")
	default:
		w.fault(fmt.Sprintf("%s %s %d: %v", p.view.name, what, id, err))
	}
	return false
}
