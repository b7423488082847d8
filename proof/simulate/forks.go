package simulate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// This file has people who fork runs (J6), from a settled question or from the end of a failed run,
// while these runs continue or are forgotten. The fork is then lived and judged like any other run.

// forkPlan is a fork that may be made of a run.
type forkPlan struct {
	id       string
	seed     uint64
	patience int // how often its person looks for a place to fork
	created  atomic.Pointer[runPlan]
}

// origin is the inheritance of a fork's plan.
type origin struct {
	at     lifecycle.At
	source *runPlan
	// heard is the earlier memory of its agent, which the first turn gets.
	heard []string
}

// planForks lets some runs be forked. Like planHolds, it has a separate generator.
func (p *plan) planForks() {
	r := rand.New(rand.NewPCG(uint64(p.peace)<<20|uint64(p.lease), uint64(p.poll)))
	for _, run := range p.runs {
		if !run.sticky && r.IntN(6) == 0 {
			run.fork = &forkPlan{id: run.spec.ID + ".fork", seed: r.Uint64(), patience: 2 + r.IntN(10)}
		}
	}
}

// forked is the plan of the run's fork; nil before the first attempt to make it.
func (p *runPlan) forked() *runPlan {
	if p.fork == nil {
		return nil
	}
	return p.fork.created.Load()
}

// forkOf is the plan of a fork that continues with the turns from this one on.
func (p *runPlan) forkOf(from origin, turn int, r *rand.Rand) *runPlan {
	f := &runPlan{spec: p.spec, turns: p.turns[turn:], submitAt: p.submitAt, expires: p.expires, repaired: p.repaired,
		clings: p.clings, reports: p.reports, origin: &from}
	f.spec.ID = p.fork.id
	f.spec.NotBefore = time.Time{} // which is not inherited
	for i := range r.IntN(3) {
		f.repliers = append(f.repliers, &replierPlan{name: fmt.Sprintf("%s.person%d", f.spec.ID, i+1), seed: r.Uint64(),
			thinks: millis(r, 500, 20_000), keyed: r.IntN(4) > 0, patience: 2 + r.IntN(6), groups: []string{bosses}})
	}
	return f
}

// inherits reports whether the turn is the first one of a fork, which continues from another run.
func (p *runPlan) inherits(t engine.Turn) bool {
	return p.origin != nil && len(p.origin.heard) > 0 && t.GoesOn() && len(remembered(t.Session)) < len(p.origin.heard)
}

// begins is how many answers the agent has heard when the run begins.
func (p *runPlan) begins() int {
	if p.origin == nil {
		return 0
	}
	return len(p.origin.heard)
}

// remembered are the answers that a session has.
func remembered(h *engine.SessionHandle) []string {
	if h == nil || len(h.Data) < 2 {
		return nil
	}
	return strings.Split(string(h.Data[1:]), "|")
}

// CanBranch implements engine.Brancher.
func (a *agent) CanBranch(context.Context, engine.BranchPoint) error { return nil }

// Branch implements engine.Brancher. All that the agent knows is in the handle.
func (a *agent) Branch(_ context.Context, p engine.BranchPoint, _ engine.Turn) (engine.SessionHandle, error) {
	return p.Session, nil
}

// forks looks for a place where the run can be forked, and forks it there.
func (p *person) forks(ctx context.Context, plan *forkPlan) {
	r := rand.New(rand.NewPCG(plan.seed, 0))
	for range plan.patience {
		if !p.pause(millis(r, 500, 30_000)) {
			return
		}
		run, err := p.Get(ctx, p.run.spec.ID)
		if err != nil {
			continue
		}
		records, err := p.History(ctx, run.ID)
		if err != nil {
			continue
		}
		records = slices.DeleteFunc(records, func(r interaction.Record) bool { return r.Resolution == "" }) // is open
		from, turn, may := p.forkable(&run, records, r)
		if from == nil {
			continue
		}
		f := p.run.forkOf(*from, turn, r)
		plan.created.Store(f)
		if p.makes(ctx, f, may) {
			for _, replier := range f.repliers {
				q := p.world.person(f, replier.name)
				p.world.send(q, func() { q.replies(ctx, replier) })
			}
			return
		}
	}
}

// forkable chooses where the run is forked; nil if there is no such place yet. It also returns with
// which turn of the plan the fork begins, and whether it may be made.
func (p *person) forkable(run *store.Run, records []interaction.Record, r *rand.Rand) (from *origin, turn int,
	may bool,
) {
	rounds := p.run.complete(records)
	from = &origin{at: lifecycle.At{ID: p.run.fork.id, Actor: lifecycle.Actor{ID: p.view.name}}, source: p.run}
	said := ""
	if r.IntN(2) == 0 {
		said = fmt.Sprintf("forked %d", r.IntN(1000))
		from.at.Answer.Text = said
	}
	for i := range rounds {
		from.heard = append(from.heard, rounds[i].heard())
	}
	if run.State == fsm.StateFailed && r.IntN(2) == 0 {
		return p.forkableAtEnd(run, records, rounds, from)
	}
	if len(rounds) == 0 {
		return nil, 0, false
	}
	turn = 1 + r.IntN(len(rounds))
	round := rounds[turn-1]
	round.records = slices.Clone(round.records)
	q := &round.records[r.IntN(len(round.records))]
	from.at.Question = q.Question.ID
	if said == "" && asksAgain(round.records, from.at.Actor) {
		return nil, 0, false // the fork would have a turn more than the plan
	}
	switch {
	case said != "" && len(round.records) > 1 && asksAgain(round.records, from.at.Actor):
		return from, turn, false
	case said != "" && (q.Question.Kind == interaction.Approval || !q.Question.To.Admits(from.at.Actor)):
		return from, turn, false // a text is no decision, or others were asked
	case said == "" && q.Resolution == interaction.Abandoned:
		return from, turn, false
	case said != "":
		q.Response, q.Decision = said, ""
	}
	from.heard = append(from.heard[:turn-1:turn-1], round.heard())
	return from, turn, true
}

// asksAgain reports whether a fork by this person does not inherit every answer.
func asksAgain(records []interaction.Record, author lifecycle.Actor) bool {
	return slices.ContainsFunc(records, func(r interaction.Record) bool {
		return r.Resolution != interaction.Superseded && (r.Question.Kind == interaction.Approval ||
			!r.Question.To.Admits(author))
	})
}

// forkableAtEnd is where a run is forked that has failed: with its last turn once more.
func (p *person) forkableAtEnd(run *store.Run, records []interaction.Record, rounds []round, from *origin) (*origin,
	int, bool,
) {
	last := len(rounds)
	asked := 0
	for i := range rounds {
		asked += len(rounds[i].records)
	}
	switch {
	case last > 0 && from.at.Answer.Text == "" && asksAgain(rounds[last-1].records, from.at.Actor):
		return nil, 0, false
	case asked < len(records) || last > 0 && rounds[last-1].count(interaction.Abandoned) > 0,
		last > 0 && len(remembered(run.Session)) != last-1: // its session has heard of the last answer
		return nil, 0, false
	case last == 0 && from.at.Answer.Text != "" && (run.Session == nil || len(remembered(run.Session)) > 0):
		return nil, 0, false
	case from.at.Answer.Text != "" && last == 0:
		from.heard = []string{from.at.Answer.Text}
	case from.at.Answer.Text != "":
		from.heard[last-1] = from.at.Answer.Text
	}
	return from, last, true
}

// complete are the rounds of questions of which all are settled.
func (p *runPlan) complete(records []interaction.Record) (all []round) {
	number := 1
	for i := range p.turns {
		n := p.turns[i].asked()
		if len(records) < n || records[0].Question.ID != number || records[n-1].Question.ID != number+n-1 {
			break
		}
		all = append(all, round{first: number, records: records[:n]})
		records, number = records[n:], number+n
	}
	return all
}

// makes tries to make the fork, and reports whether it is made.
func (p *person) makes(ctx context.Context, f *runPlan, may bool) bool {
	w, at := p.world, f.origin.at
	for tried := false; ; tried = true {
		run, err := p.Fork(ctx, p.run.spec.ID, at)
		switch {
		case err == nil && !may:
			w.fault(fmt.Sprintf("%s was forked at %+v, where it cannot be", p.run.spec.ID, at))
			return false
		case err == nil:
			if w.saw("a run was forked from a settled question"); tried {
				w.saw("a fork was tried again")
			}
			if at.Question == 0 {
				w.saw("a run that had failed was forked from its end")
			}
			if from := run.ForkedFrom; from == nil || from.RunID != p.run.spec.ID || from.Question != at.Question {
				w.fault(fmt.Sprintf("the fork of %s at %d was made as one of %+v", p.run.spec.ID, at.Question, from))
			}
			p.created = true
			return true
		case (errors.Is(err, lifecycle.ErrCannotFork) || errors.Is(err, lifecycle.ErrNotAsked)) && !may:
			w.saw("a run was not forked where it cannot be")
			return false
		case !unclear(err):
			w.fault(fmt.Sprintf("%s forks at %+v: %v", p.view.name, at, err))
			return false
		}
		if !p.pause(time.Second) {
			return false
		}
	}
}

// forksFound explains which fork and its source cannot be found from each other, or have another
// history.
func (w *world) forksFound(endings []*ending) string {
	c, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: w.store})
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	for _, source := range endings {
		if source.plan.fork == nil {
			continue
		}
		page, err := w.store.Runs(w.ctx, store.Query{ForkedFrom: source.run.ID})
		if err != nil {
			return err.Error()
		}
		i := slices.IndexFunc(endings, func(e *ending) bool { return e.run.ID == source.plan.fork.id })
		told := slices.ContainsFunc(source.people, func(p *person) bool { return p.created })
		switch {
		case i < 0 && told:
			return fmt.Sprintf("somebody was told that run %s is forked, and it is not", source.run.ID)
		case i < 0 && len(page.Runs) == 0:
			continue
		case i < 0 || len(page.Runs) != 1 || page.Runs[0].ID != endings[i].run.ID:
			return fmt.Sprintf("run %s is said to have the forks %+v", source.run.ID, page.Runs)
		}
		if why := source.forkedAs(endings[i], c); why != "" {
			return why
		}
	}
	return ""
}

// forkedAs returns the fault of the run's fork.
func (e *ending) forkedAs(fork *ending, c *lifecycle.Client) string {
	at := fork.plan.origin.at
	from := fork.run.ForkedFrom
	if from == nil || from.RunID != e.run.ID || from.Question != at.Question {
		return fmt.Sprintf("run %s is said to be forked from %+v, and is from question %d of %s", fork.run.ID, from,
			at.Question, e.run.ID)
	}
	inherited, err := c.Inherited(e.world.ctx, fork.run.ID)
	if err != nil {
		return err.Error()
	}
	heard := fork.plan.origin.heard
	rounds := e.plan.complete(inherited)
	for i := range rounds {
		atEnd := at.Question == 0 && i == len(rounds)-1 && at.Answer.Text != "" // answers no question
		if i >= len(heard) || rounds[i].heard() != heard[i] && !atEnd {
			return fmt.Sprintf("run %s inherits %+v, and should have heard %q", fork.run.ID, inherited, heard)
		}
	}
	toldFirst := at.Question == 0 && len(heard) == 1 // it got an answer, and has asked nothing
	if len(rounds) < len(heard) && (len(rounds) > 0 || !toldFirst) {
		return fmt.Sprintf("run %s inherits %+v, and should have heard %q", fork.run.ID, inherited, heard)
	}
	if fork.run.State == fsm.StateSucceeded {
		e.world.saw("a fork has succeeded")
	}
	return ""
}
