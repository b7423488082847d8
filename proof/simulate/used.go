package simulate

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// This file has what turns use (J13): what agents report, and the judge that adds it up from the
// commits that were accepted.

// planUsage lets the agents of some runs report usage, and gives some of these a budget of tokens.
// Like planHolds, it has a separate generator.
func (p *plan) planUsage() {
	r := rand.New(rand.NewPCG(uint64(p.lease), uint64(p.poll)<<20|uint64(p.peace)))
	for _, run := range p.runs {
		run.reports = r.IntN(2) == 0
		if run.reports && !run.sticky && run.spec.Budget == (lifecycle.Budget{}) && r.IntN(6) == 0 {
			run.spec.Budget.Tokens = int64(1 + r.IntN(400))
		}
	}
}

// spends is the agent's reported usage at the end of the attempt; zero for some attempts.
func (p *runPlan) spends(attempt int) engine.Usage {
	r := rand.New(rand.NewPCG(hashOf(p.spec.ID, p.submitAt), uint64(attempt)))
	if !p.reports || r.IntN(4) == 0 {
		return engine.Usage{}
	}
	return engine.Usage{InputTokens: r.Int64N(100), OutputTokens: 1 + r.Int64N(100), CostUSD: float64(r.IntN(50)) / 1e6}
}

// hashOf is a seed for a separate generator.
func hashOf(words ...any) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, words...) // never fails
	return h.Sum64()
}

// spent counts the usage of an accepted commit, and compares it with the agent's report.
func (x *witness) spent(c *store.Commit) {
	w, id := x.world, c.Run.ID
	plan := w.runPlan(id)
	if u := plan.spends(c.Run.Attempt); u.InputTokens != c.Usage.InputTokens || u.OutputTokens != c.Usage.OutputTokens {
		w.fault(fmt.Sprintf("run %s: attempt %d has used %+v, and its agent reported %+v", id, c.Run.Attempt, c.Usage,
			u))
	}
	for _, t := range x.used[id] {
		if t.Attempt == c.Run.Attempt {
			w.fault(fmt.Sprintf("run %s: the usage of attempt %d is stored twice", id, t.Attempt))
		}
	}
	x.used[id] = append(x.used[id], store.TurnUsage{Attempt: c.Run.Attempt, Usage: *c.Usage})
	w.saw("what a turn has used was stored")
	var going store.Usage
	for id, run := range x.runs {
		if !run.State.Terminal() {
			going.Add(sum(x.used[id]))
		}
	}
	survey, err := w.store.Survey(w.ctx, time.Now())
	if err != nil || survey.Usage != going {
		w.fault(fmt.Sprintf("the runs that go on have used %+v, and the survey says %+v: %v", going, survey.Usage, err))
	}
}

func sum(turns []store.TurnUsage) (total store.Usage) {
	for _, t := range turns {
		total.Add(t.Usage)
	}
	return total
}

// usedAsStored explains which usage was lost, or counted twice.
func (e *ending) usedAsStored(*ending) string {
	turns := e.world.witness.used[e.run.ID]
	stored, err := e.world.store.Usage(e.world.ctx, e.run.ID)
	if err != nil || !slices.Equal(stored, turns) {
		return fmt.Sprintf("its turns have used %+v, and the store says %+v: %v", turns, stored, err)
	}
	total := sum(turns)
	if b := e.run.Budget; b != nil && b.Used.Tokens != total.InputTokens+total.OutputTokens {
		return fmt.Sprintf("its turns have used %+v, and its budget says %d tokens", total, b.Used.Tokens)
	}
	last := e.plan.spends(e.run.Attempt)
	reported := func(t store.TurnUsage) bool { return t.Attempt == e.run.Attempt }
	if e.run.State == fsm.StateSucceeded && last != (engine.Usage{}) && !slices.ContainsFunc(turns, reported) {
		return fmt.Sprintf("it succeeded with attempt %d, whose usage is not stored", e.run.Attempt)
	}
	if len(turns) > 1 {
		e.world.saw("several turns of a run have stored what they used")
	}
	return ""
}
