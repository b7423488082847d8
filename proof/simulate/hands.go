package simulate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// This file has people who put open questions to others (K5), while these are answered, claimed,
// voted on and escalated. Who is asked after that, and who may answer, is judged in waited.go.

// assignerPlan is a person who reassigns questions: as the host itself, or as a respondent.
type assignerPlan struct {
	seed     uint64
	patience int // how often they try
	actor    lifecycle.Actor
}

// planHands lets people reassign the questions of some runs. Like planHolds, it has a separate
// generator.
func (p *plan) planHands() {
	r := rand.New(rand.NewPCG(uint64(p.poll), uint64(p.lease)<<20|uint64(p.peace)))
	for _, run := range p.runs {
		if r.IntN(3) > 0 {
			continue
		}
		for range 1 + r.IntN(2) {
			a := assignerPlan{seed: r.Uint64(), patience: 1 + r.IntN(4)}
			if n := len(run.repliers); n > 0 && r.IntN(3) == 0 {
				one := run.repliers[r.IntN(n)]
				a.actor = lifecycle.Actor{ID: one.name, Groups: one.groups}
			}
			run.assigners = append(run.assigners, a)
		}
	}
}

// handing is a question that was put to others: by a step of its wait, or by a person.
type handing struct {
	to   *interaction.Audience
	join bool // in addition to the previous audience
}

// hands are the answers to a person's reassignments.
type hands struct {
	stored  map[string]int // by handOf
	unclear int
	refused map[int]bool // the questions whose reassignment was refused as outdated
}

// handOf names a question and whom it was put to.
func handOf(question int, users, groups []string) string {
	return fmt.Sprintf("%d to %s", question, strings.Join(slices.Concat(users, groups), ", "))
}

// assigns puts open questions to others until the run has ended or the person's patience is over.
func (p *person) assigns(ctx context.Context, plan assignerPlan) {
	w, r := p.world, rand.New(rand.NewPCG(plan.seed, 0))
	by := p.As(plan.actor)
	for range plan.patience {
		if !p.pause(millis(r, 500, 20_000)) {
			return
		}
		run, err := p.Get(ctx, p.run.spec.ID)
		if err != nil || run.State != fsm.StateWaitingUser {
			continue
		}
		open := run.Open
		q := &open[r.IntN(len(open))]
		to := *newAudience(r, p.run)
		var wrong *lifecycle.ArgumentError
		switch err := by.Reassign(ctx, run.ID, q.ID, q.To, to); {
		case err == nil:
			w.saw("somebody put a question to others")
			p.handed.stored[handOf(q.ID, to.Users, to.Groups)]++
		case unclear(err):
			p.handed.unclear++
		case errors.Is(err, lifecycle.ErrReassigned):
			w.saw("somebody else had put the question to others first")
			p.handed.refused[q.ID] = true
		case errors.Is(err, lifecycle.ErrClaimed):
			w.saw("a question was not put to others, since somebody had claimed it")
		case errors.Is(err, lifecycle.ErrNotAsked):
			w.saw("somebody who was not asked tried to put a question to others")
		case errors.Is(err, lifecycle.ErrSettled), errors.Is(err, lifecycle.ErrNotWaiting):
			w.saw("a question was settled before it was put to others")
		case errors.As(err, &wrong) && (p.run.need(q.ID).several() || p.run.spec.Submitter != ""):
			w.saw("a question was not put to fewer people than must decide it")
		default:
			w.fault(fmt.Sprintf("%s puts %d to others: %v", p.view.name, q.ID, err))
		}
	}
}

// putTo notes that the actor, a person or a rule, has put the question to others.
func (x *waits) putTo(q *asked, to *fcmp.Audience, actor string) string {
	if to == nil || to.Everybody || len(to.Users)+len(to.Groups) == 0 ||
		len(to.Except) > 0 && !slices.Equal(to.Except, []string{x.plan.spec.Submitter}) {
		return fmt.Sprintf("question %d is put to %+v, and nobody has asked for that", q.number, to)
	}
	q.put = append(q.put, handing{to: &interaction.Audience{Users: to.Users, Groups: to.Groups}})
	if !interaction.IsPolicy(actor) {
		x.handed[handOf(q.number, to.Users, to.Groups)]++
	}
	return ""
}

// handedAsReported compares the answers to people's reassignments with the log.
func (x *waits) handedAsReported() string {
	told, unclear, logged := make(map[string]int), 0, 0
	for _, p := range x.people {
		for hand, n := range p.handed.stored {
			told[hand] += n
		}
		unclear += p.handed.unclear
		for number := range p.handed.refused {
			if len(x.all[number].put) == 0 {
				return fmt.Sprintf("%s was told that question %d was put to others, and it never was", p.view.name,
					number)
			}
		}
	}
	for hand, n := range told {
		if x.handed[hand] < n {
			return fmt.Sprintf("people were told that they put question %s, %d times, and the log has %d", hand, n,
				x.handed[hand])
		}
	}
	for hand, n := range x.handed {
		logged += n - told[hand]
	}
	if logged > unclear {
		return fmt.Sprintf("the log has %d times more than people know of that a question was put to others, and %d "+
			"were not told of the outcome", logged, unclear)
	}
	return ""
}
