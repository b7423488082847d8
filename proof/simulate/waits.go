package simulate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// This file has questions with waits (K7): the seed's plan, and the people who move their ends. The
// judge is in waited.go.

// bosses is a group that questions are escalated to.
const bosses = "bosses"

// extenderPlan is a person who moves the ends of questions.
type extenderPlan struct {
	seed     uint64
	thinks   time.Duration // the longest time between two tries
	patience int           // how often they try
}

// planWaits gives some questions waits. Like planHolds, it has a separate generator.
func (p *plan) planWaits() {
	r := rand.New(rand.NewPCG(uint64(p.lease)<<20|uint64(p.peace), uint64(p.poll)))
	for _, run := range p.runs {
		for _, person := range run.repliers[min(1, len(run.repliers)):] {
			person.groups = []string{bosses}
		}
		if r.IntN(2) == 0 {
			continue
		}
		if r.IntN(2) == 0 {
			run.spec.Ask = &lifecycle.AskPolicy{Wait: p.newWait(r, run, false)}
		}
		for i := range run.turns {
			t := &run.turns[i]
			t.waits = make([]*interaction.Wait, t.asked())
			for j := range t.waits {
				approval := len(t.several.approvals) > 0 && t.several.approvals[j]
				// An approval cannot take the default answer of a text.
				unfit := approval && run.spec.Ask != nil && run.spec.Ask.Wait.Default != nil
				if unfit || r.IntN(2) == 0 {
					t.waits[j] = p.newWait(r, run, approval)
				}
			}
		}
		for range r.IntN(3) {
			run.extenders = append(run.extenders, extenderPlan{r.Uint64(), millis(r, 2000, 20_000), 2 + r.IntN(5)})
		}
	}
}

// newWait draws a wait. A resident process's wait always ends, since its slot is not free before.
func (p *plan) newWait(r *rand.Rand, run *runPlan, approval bool) *interaction.Wait {
	wait, at := &interaction.Wait{}, time.Duration(0)
	later := func() time.Duration {
		if at += seconds(r, 1, 20); p.rhythm {
			at = at.Truncate(beat) + beat
		}
		return at
	}
	for range r.IntN(4) {
		step := interaction.WaitStep{Do: interaction.Remind, After: later()}
		if r.IntN(2) == 0 {
			step.Do, step.Join, step.To = interaction.Escalate, r.IntN(2) == 0, newAudience(r, run)
		}
		wait.Steps = append(wait.Steps, step)
	}
	if !run.sticky && r.IntN(4) == 0 {
		return wait
	}
	all := []interaction.Then{interaction.ThenDefault, interaction.ThenDefault, interaction.ThenDecide,
		interaction.ThenFail, interaction.ThenWait}
	if run.sticky {
		all = all[:4]
	}
	wait.End, wait.Then = later(), all[r.IntN(len(all))]
	if wait.Then == interaction.ThenDefault {
		wait.Default = &interaction.DefaultReply{Text: fmt.Sprintf("default %d", r.IntN(1000))}
		if approval {
			wait.Default.Decision = interaction.Reject
		}
	}
	return wait
}

// newAudience draws the audience of an escalation: a group, a respondent, or an absent person.
func newAudience(r *rand.Rand, run *runPlan) *interaction.Audience {
	if i := r.IntN(len(run.repliers) + 2); i < len(run.repliers) {
		return &interaction.Audience{Users: []string{run.repliers[i].name}}
	} else if i == len(run.repliers) {
		return &interaction.Audience{Users: []string{"somebody who is ill"}}
	}
	return &interaction.Audience{Groups: []string{bosses}}
}

// wait is the wait that the plan gives to the question of that number; nil if it has none.
func (p *runPlan) wait(number int) *interaction.Wait {
	for i := range p.turns {
		n := p.turns[i].asked()
		if number > n {
			number -= n
			continue
		}
		turn, all := &p.turns[i], make([]*interaction.Wait, n)
		own := false
		for j := range all {
			if len(turn.waits) > 0 {
				all[j] = turn.waits[j]
			}
			if all[j] == nil && p.spec.Ask != nil {
				all[j] = p.spec.Ask.Wait
			}
			own = own || all[j] != nil
		}
		if own && all[number-1] == nil {
			return p.usualWait()
		}
		return all[number-1]
	}
	return nil
}

// usualWait is the behaviour of a question without a wait next to a sibling with a wait.
func (p *runPlan) usualWait() *interaction.Wait {
	switch {
	case p.spec.AutoDecide:
		return &interaction.Wait{End: p.spec.SessionTimeout, Then: interaction.ThenDecide}
	case p.sticky:
		return &interaction.Wait{End: p.spec.SessionTimeout, Then: interaction.ThenFail}
	}
	return &interaction.Wait{}
}

// extensions are the answers to a person's moves of ends.
type extensions struct{ moved, unclear int }

// extends moves the ends of open questions until the run has ended or the person's patience is
// over.
func (p *person) extends(ctx context.Context, plan extenderPlan) {
	w, r := p.world, rand.New(rand.NewPCG(plan.seed, 0))
	for range plan.patience {
		if !p.pause(time.Duration(1 + r.Int64N(int64(plan.thinks)))) {
			return
		}
		run, err := p.Get(ctx, p.run.spec.ID)
		if err != nil || run.State != fsm.StateWaitingUser {
			continue
		}
		open := run.Open
		q := &open[r.IntN(len(open))]
		if q.EndsAt.IsZero() {
			continue
		}
		more := seconds(r, 1, 30)
		if w.plan.rhythm {
			more = more.Truncate(beat) + beat
		}
		var wrong *lifecycle.ArgumentError
		switch err := p.Extend(ctx, run.ID, q.ID, q.EndsAt.Add(more)); {
		case err == nil:
			p.extended.moved++
		case unclear(err):
			p.extended.unclear++
		case errors.Is(err, lifecycle.ErrSettled), errors.Is(err, lifecycle.ErrNotWaiting):
			w.saw("a question was settled before its end was moved")
		case errors.Is(err, lifecycle.ErrRunChanged), errors.As(err, &wrong): // that end is not later any more
			w.saw("somebody else moved an end first")
		default:
			w.fault(fmt.Sprintf("%s moves the end of %d: %v", p.view.name, q.ID, err))
		}
	}
}
