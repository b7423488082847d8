package simulate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// This file has people whose approvals cover later calls of a run, and others who end that (N9). Its
// judge keeps a ledger of the remembered decisions, and compares each use and each record with it.

// memoryPlan is the time for which the hosts of a world remember decisions. 0: none is remembered.
type memoryPlan struct{ lasts time.Duration }

// forgetterPlan is a person who ends remembered decisions.
type forgetterPlan struct {
	seed     uint64
	patience int
}

// planMemory lets some hosts remember decisions, mostly hosts with a policy. Like planHolds, it has a
// separate generator.
func (p *plan) planMemory() {
	r := rand.New(rand.NewPCG(uint64(p.peace)<<20|uint64(p.poll), uint64(p.lease)))
	often := 16
	if p.rules.hides > 0 {
		often = 2
	}
	if r.IntN(often) > 0 {
		return
	}
	p.memory.lasts = seconds(r, 10, 120)
	for _, run := range p.runs {
		for range 2 {
			run.turns = slices.Insert(run.turns, 0, newTurn(r, true, p.calm))
		}
		run.spec.SessionTimeout += 30 * time.Second
		run.moreApprovals(r)
		run.repliers = append(run.repliers, &replierPlan{name: run.spec.ID + ".approver", seed: r.Uint64(),
			thinks: millis(r, 300, 3_000), keyed: r.IntN(4) > 0, patience: 25 + r.IntN(40)})
		if r.IntN(3) == 0 {
			run.forgetter = &forgetterPlan{r.Uint64(), 2 + r.IntN(10)}
		}
	}
}

// bound is which later calls an approval covers.
type bound struct {
	any, kind bool
	most      int // 0: no limit
}

// bound is how the person with that seed extends their approval of the question. ok is false if they
// do not.
func (p *memoryPlan) bound(seed uint64, number int) (b bound, ok bool) {
	if p.lasts == 0 {
		return bound{}, false
	}
	switch r := rand.New(rand.NewPCG(seed, uint64(1<<20+number))); r.IntN(6) {
	case 0:
		return bound{}, false
	case 1: // all arguments must be equal, and no two calls have the same
		return bound{}, true
	case 2:
		return bound{most: number + r.IntN(4)}, true
	case 3:
		return bound{kind: true}, true
	default:
		return bound{any: true}, true
	}
}

// extend turns the reply into an approval that covers later calls, if the person extends it.
func (p *memoryPlan) extend(reply *interaction.Reply, seed uint64, now time.Time) {
	b, ok := p.bound(seed, reply.ID)
	if !ok {
		return
	}
	lasts := 1 + rand.New(rand.NewPCG(seed, uint64(1<<21+reply.ID))).Int64N(int64(p.lasts))
	reply.Decision, reply.Value = interaction.Approve, nil
	reply.Remember = &interaction.Remember{Until: now.Add(time.Duration(lasts)), Any: b.any}
	if b.kind {
		reply.Remember.Equal = []string{"/kind"}
	}
	if b.most > 0 {
		reply.Remember.Most = []interaction.Limit{{Path: "/number", Limit: fmt.Sprint(b.most)}}
	}
}

// kind is an argument that every second call shares.
func kind(number int) int { return number % 2 }

// memo is a remembered decision in the ledger.
type memo struct {
	bound
	number    int
	at, until time.Time
	to        *interaction.Audience
	ended     string // why it does not count any more
	forgotten int    // how many events end it
}

// fails explains why the decision does not cover the question at that time; empty if it does.
func (m *memo) fails(q *interaction.Question, now time.Time) string {
	same := m.any || m.kind && kind(q.ID) == kind(m.number) || m.most > 0 && q.ID <= m.most
	switch {
	case m.ended != "":
		return "it had ended: " + m.ended
	case !now.Before(m.until):
		return fmt.Sprintf("it had expired at %s", m.until)
	case !same:
		return fmt.Sprintf("it covers %+v", m.bound)
	case !q.To.Equal(m.to):
		return "others are asked"
	case q.Kind != interaction.Approval || q.DecidedBySeveral() || q.Claim != nil:
		return "the question is not for one person"
	}
	return ""
}

// covered reports whether the ledger has a decision that covers the question when it is asked.
func (x *witness) covered(run string, q *interaction.Question) bool {
	for at, m := range x.memos {
		if at.run == run && m.fails(q, q.AskedAt) == "" {
			return true
		}
	}
	return false
}

// recalled judges the use of a remembered decision.
func (x *witness) recalled(v *view, prev *store.Run, run string, r *interaction.Record, now time.Time) {
	w, number := x.world, r.Question.ID
	source := interaction.MemoryOf(r.Actor)
	m, q, asked := x.memos[questionOf{run, source}], prev.OpenQuestion(number), x.hidden[questionOf{run, number}]
	why := ""
	switch {
	case !v.recalls:
		why = "it does not remember"
	case m == nil:
		why = "the run has no such decision"
	case q == nil || asked == nil || !q.Hidden(now):
		why = "the question is not hidden"
	case r.Decision != interaction.Approve:
		why = "it is no approval"
	case v.rules > 0:
		said := w.plan.rules.ruling(w.runPlan(run), number, v.rules)
		if said.fault != noPolicyFault || said.ruling != (interaction.Ruling{}) && said.limit == 0 {
			why = fmt.Sprintf("the policy says %+v", said)
		} else {
			w.saw("a decision was used after the policy left the question to people")
		}
	}
	if why == "" {
		why = m.fails(q, now)
	}
	if why != "" {
		w.fault(fmt.Sprintf("run %s: %s has decided question %d as %s: %s", run, v.name, number, r.Actor, why))
		return
	}
	asked.by = r.Actor
	w.saw("a remembered decision was used")
	if asked.asker != v {
		w.saw("a remembered decision was used by another process")
	}
}

// remembers keeps the ledger.
func (x *witness) remembers(c *store.Commit) {
	w, run := x.world, c.Run.ID
	plan := w.runPlan(run)
	for i := range c.Settled {
		r := &c.Settled[i]
		if interaction.IsPolicy(r.Actor) && r.Decision == interaction.Reject {
			x.end(run, "a rule refused a call")
		}
		for _, p := range plan.repliers {
			b, ok := w.plan.memory.bound(p.seed, r.Question.ID)
			if !ok || p.name != r.Actor || r.Resolution != interaction.UserReply || !plan.approval(r.Question.ID) ||
				plan.need(r.Question.ID).several() {
				continue
			}
			m := &memo{bound: b, number: r.Question.ID, at: c.Run.UpdatedAt, to: r.Question.To}
			if kept := c.Run.Memory(m.number); kept != nil {
				m.until = kept.Until
			}
			if !m.until.After(m.at) || m.until.After(m.at.Add(w.plan.memory.lasts)) {
				w.fault(fmt.Sprintf("run %s: the decision on %d is remembered until %s", run, m.number, m.until))
			}
			x.memos[questionOf{run, m.number}] = m
			w.saw("a decision was remembered")
		}
	}
	for i := range c.Events {
		var forgotten fcmp.Forgotten
		e, err := fcmp.Decode(c.Events[i].Body)
		if err != nil || e.Type != fcmp.TypeForgotten || e.Decode(&forgotten) != nil {
			continue
		}
		m := x.memos[questionOf{run, forgotten.InteractionID}]
		if m == nil || m.ended != "" {
			w.fault(fmt.Sprintf("run %s: the decision on %d was forgotten, and is %+v", run, forgotten.InteractionID,
				m))
			continue
		}
		m.ended = "a person ended it"
		m.forgotten++
		w.saw("a remembered decision was ended")
		if c.Run.State != fsm.StateWaitingUser {
			w.saw("a remembered decision was ended while the run did not wait")
		}
	}
	if c.Run.State.Terminal() {
		x.end(run, "the run ended")
	}
}

// end ends all decisions of a run.
func (x *witness) end(run, why string) {
	for at, m := range x.memos {
		if at.run == run && m.ended == "" {
			m.ended = why
			x.world.saw("remembered decisions ended: " + why)
		}
	}
}

// remembered compares the remembered decisions of a record with the ledger.
func (x *witness) remembered(run *store.Run) string {
	for i := range run.Remembered {
		if m := x.memos[questionOf{run.ID, run.Remembered[i].ID}]; m == nil || m.ended != "" {
			return fmt.Sprintf("it remembers the decision on %d, which is %+v", run.Remembered[i].ID, m)
		}
	}
	for at, m := range x.memos {
		if at.run == run.ID && m.ended == "" && run.UpdatedAt.Before(m.until) && run.Memory(at.number) == nil {
			return fmt.Sprintf("it does not remember the decision on %d", at.number)
		}
	}
	return ""
}

// forgets ends remembered decisions until the run has ended or the person's patience is over.
func (p *person) forgets(ctx context.Context, plan *forgetterPlan) {
	r := rand.New(rand.NewPCG(plan.seed, 0))
	for range plan.patience {
		if !p.pause(millis(r, 500, 15_000)) {
			return
		}
		run, err := p.Get(ctx, p.run.spec.ID)
		if err != nil || len(run.Remembered) == 0 {
			continue
		}
		number := run.Remembered[r.IntN(len(run.Remembered))].ID
		for tried := false; ; tried = true {
			err := p.Forget(ctx, run.ID, number)
			if err == nil {
				p.forgotten[number] = true
			}
			if errors.Is(err, lifecycle.ErrNotFound) {
				p.ended[number] = true
				p.world.saw(fmt.Sprintf("a person found that a remembered decision had ended, again %t", tried))
			} else if err != nil && !unclear(err) {
				p.world.fault(fmt.Sprintf("%s forgets %d: %v", p.view.name, number, err))
			}
			if !unclear(err) {
				break
			}
			if !p.pause(time.Second) {
				return
			}
		}
	}
}

// forgot compares the answers to people who end remembered decisions with the ledger.
func (e *ending) forgot(*ending) string {
	for _, p := range e.people {
		for number := range p.forgotten {
			if m := e.world.witness.memos[questionOf{e.run.ID, number}]; m == nil || m.forgotten != 1 {
				return fmt.Sprintf("%s was told that the decision on %d is forgotten, and it is %+v", p.view.name,
					number, m)
			}
		}
		for number := range p.ended {
			m := e.world.witness.memos[questionOf{e.run.ID, number}]
			if m == nil || m.ended == "" && e.run.Memory(number) != nil {
				return fmt.Sprintf("%s was told that the decision on %d is not remembered, and it is %+v", p.view.name,
					number, m)
			}
		}
	}
	return ""
}

// byItself reports whether the actor is the host's policy or a remembered decision.
func byItself(actor string) bool {
	return interaction.IsPolicy(actor) || interaction.MemoryOf(actor) > 0
}
