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
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// This file has held runs (J1, J5, J13): whose runs are held instead of failing, the reasons, the
// operator who decides about them, and the judge of both.

// holdPlan is the seed's plan for held runs.
type holdPlan struct {
	forgiving bool          // the hosts have Config.Forgiving
	lacking   string        // the host whose processes have no sticky engine until peace; empty for none
	outage    string        // the host whose resumable engine is unavailable at times; empty for none
	from, to  time.Duration // when it is
	outageBy  mishap        // what its Profile does besides returning an error then
	thinks    time.Duration // the operator's longest pause
	seed      uint64        // of the operator's decisions
}

// planHolds plans held runs. Like overload, it has a separate generator.
func (p *plan) planHolds() {
	r := rand.New(rand.NewPCG(uint64(p.peace), uint64(p.lease)<<20|uint64(p.poll)))
	h := &p.holds
	h.forgiving, h.thinks, h.seed = r.IntN(2) == 0, seconds(r, 2, 90), r.Uint64()
	hosts := len(p.skews)
	if host := r.IntN(4 * hosts); host < hosts && !p.calm {
		h.outage = hostName(host)
		h.from = millis(r, 0, 40_000)
		h.to = h.from + millis(r, 2000, 60_000)
	}
	if host := r.IntN(6 * hosts); host < hosts && !p.calm {
		h.lacking = hostName(host)
	}
	for _, run := range p.runs {
		if !run.spec.Repeatable && r.IntN(3) == 0 {
			run.spec.OnInterrupt = []lifecycle.OnInterrupt{lifecycle.Ask, lifecycle.Fail}[r.IntN(2)]
		}
		if r.IntN(3) == 0 {
			run.spec.Hold = []lifecycle.HoldPolicy{lifecycle.HoldOn, lifecycle.HoldOff}[r.IntN(2)]
		}
		if !p.calm && p.held(run) && r.IntN(4) == 0 {
			run.expires = millis(r, 1000, 30_000)
		}
		if run.expires > 0 && r.IntN(3) > 0 {
			run.repaired = run.expires + millis(r, 1000, 120_000)
		}
		if !run.sticky && r.IntN(6) == 0 {
			run.spec.Budget.Turns = 1 + r.IntN(3)
		}
	}
}

func hostName(i int) string { return string(rune('a' + i)) }

// asks reports whether an interrupted turn of the run is held until a decision. For a sticky run
// that applies only to its first turn, whose profile is stored with its end.
func (p *plan) asks(r *runPlan) bool {
	return !r.spec.Repeatable &&
		(r.spec.OnInterrupt == lifecycle.Ask || r.spec.OnInterrupt == "" && p.holds.forgiving)
}

// held reports whether the run is held for a repairable cause.
func (p *plan) held(r *runPlan) bool {
	return !r.sticky && (r.spec.Hold == lifecycle.HoldOn || r.spec.Hold == "" && p.holds.forgiving)
}

// unavailable reports whether the engine of the process is out of order now.
func (a *agent) unavailable() bool {
	h, now := &a.view.world.plan.holds, time.Since(epoch)
	return a.kind == fsm.ProfileResumable && a.view.name == h.outage && h.from <= now && now < h.to
}

// decisions are the answers to an operator's decisions on one run.
type decisions struct {
	stored, unclear int
	ended           bool // a decision may have ended the run
}

// maxRepairs is how often an operator has a run tried again before giving it up.
const maxRepairs = 3

// operates decides about held runs until the world ends.
func (p *person) operates(ctx context.Context) {
	r := rand.New(rand.NewPCG(p.world.plan.holds.seed, 0))
	for p.pause(time.Duration(1 + r.Int64N(int64(p.world.plan.holds.thinks)))) {
		page, err := p.Runs(ctx, lifecycle.Query{Held: true})
		if err != nil {
			continue
		}
		for i := range page.Runs {
			run := &page.Runs[i]
			if run.State == fsm.StateWaitingUser && r.IntN(2) == 0 {
				continue // perhaps its session is accepted again
			}
			p.decide(ctx, run, r)
		}
	}
}

func (p *person) decide(ctx context.Context, run *store.Run, r *rand.Rand) {
	w := p.world
	d := p.decided[run.ID]
	if d == nil {
		d = new(decisions)
		p.decided[run.ID] = d
	}
	choice := lifecycle.Resume{Choice: lifecycle.ChoiceRepeat, Actor: lifecycle.Actor{ID: p.view.name}}
	if b := run.Budget; slices.Contains(run.Block.Choices, lifecycle.ChoiceRaise) {
		choice.Choice = lifecycle.ChoiceRaise
		if b.Limit.Turns > 0 {
			choice.Budget.Turns = b.Used.Turns + 1 + r.IntN(2)
		} else {
			choice.Budget.Tokens = b.Used.Tokens + 1 + int64(r.IntN(200))
		}
	}
	patience := 6
	if run.State == fsm.StateWaitingUser { // which is rare
		patience = 2
	}
	if d.stored >= maxRepairs || r.IntN(patience) == 0 {
		choice.Choice, choice.Budget = lifecycle.ChoiceEnd, lifecycle.Budget{}
	}
	if r.IntN(2) == 0 {
		choice.Version = run.Version
	}
	switch err := p.Resume(ctx, run.ID, choice); {
	case err == nil:
		d.stored++
		d.ended = d.ended || choice.Choice == lifecycle.ChoiceEnd
	case unclear(err):
		d.unclear++
		d.ended = d.ended || choice.Choice == lifecycle.ChoiceEnd
	case errors.Is(err, lifecycle.ErrNotHeld), errors.Is(err, lifecycle.ErrRunChanged),
		errors.Is(err, lifecycle.ErrTerminal):
		w.saw("a decision about a held run came too late")
	default:
		w.fault(fmt.Sprintf("%s resumes %s: %v", p.view.name, run.ID, err))
	}
}

// heldAsMeant reports an unplanned hold, a lost decision, or a run that failed though it should
// have been held.
func (e *ending) heldAsMeant(*ending) string {
	w := e.world
	logged := new(heldLog)
	for i := range e.log {
		if why := logged.read(e, &e.log[i]); why != "" {
			return why
		}
	}
	decided, givenUp := logged.decided, logged.givenUp
	d := w.operator.decided[e.run.ID]
	if d == nil {
		d = new(decisions)
	}
	if b := e.run.Budget; b != nil && b.Limit.Turns > 0 && b.Used.Turns > b.Limit.Turns {
		return fmt.Sprintf("it has used %d turns, and its budget is %d", b.Used.Turns, b.Limit.Turns)
	}
	switch {
	case decided < d.stored || decided > d.stored+d.unclear:
		return fmt.Sprintf("the operator was told of %d decisions and not of the outcome of %d, and the log has %d",
			d.stored, d.unclear, decided)
	case givenUp && !d.ended:
		return "it was given up, and nobody decided that"
	case givenUp || e.run.State != fsm.StateFailed:
		return ""
	}
	// A client's recovery knows the policy of no host.
	byHost := w.plan.recovers == 0 || e.plan.spec.OnInterrupt != ""
	switch code := e.run.Error.Code; {
	case !e.plan.sticky && byHost && w.plan.asks(e.plan) && code == fsm.CodeOrchestratorRestartInterrupted,
		w.plan.held(e.plan) && (code == fsm.CodeSessionResumeFailed || code == fsm.CodeEngineUnavailable):
		return fmt.Sprintf("it failed with %s (%s), and should be held", code, e.run.Error.Message)
	}
	return ""
}

// heldLog has the decisions about a run's holds, from its log.
type heldLog struct {
	decided int
	givenUp bool
}

// read reads one event, and reports an unplanned hold.
func (l *heldLog) read(e *ending, event *fcmp.Event) string {
	w := e.world
	switch event.Type {
	case fcmp.TypeYielded:
		var y fcmp.Yielded
		if err := event.Decode(&y); err != nil {
			return err.Error()
		}
		return e.yieldedAsMeant(&y)
	case fcmp.TypeBlocked:
		var b fcmp.Blocked
		if err := event.Decode(&b); err != nil {
			return err.Error()
		}
		spent := fsm.Code(b.Code) == fsm.CodeBudgetExhausted && e.plan.spec.Budget != (lifecycle.Budget{})
		if !spent && (!w.plan.held(e.plan) || e.plan.expires == 0) {
			return "it was blocked, and nothing was the cause of it"
		}
	case fcmp.TypeUnblocked:
		var u fcmp.Unblocked
		if err := event.Decode(&u); err != nil {
			return err.Error()
		}
		w.saw("a hold ended: " + u.Cause)
		if u.Cause == "resumed" || u.Cause == "raised" {
			l.decided++
		}
		if u.Cause == "repaired" && e.plan.repaired == 0 {
			return "its session was accepted again, which it never is"
		}
	case fcmp.TypeStateChanged:
		var c fcmp.StateChanged
		if event.Decode(&c) == nil && c.Trigger == string(fsm.EventRunGivenUp) {
			l.givenUp = true
			l.decided++
		}
	}
	return ""
}

// yieldedAsMeant explains why a turn must not have been put off.
func (e *ending) yieldedAsMeant(y *fcmp.Yielded) string {
	plan := e.world.plan
	retried := len(y.Choices) == 0
	asks := slices.Contains([]fsm.Code{fsm.CodeOrchestratorRestartInterrupted, fsm.CodeTurnInterrupted},
		fsm.Code(y.Code)) // the second one: an earlier turn of the run has not returned from its engine
	switch {
	case retried && !e.plan.sticky && (e.plan.spec.Retry != nil || plan.holds.forgiving):
	case !retried && asks && plan.asks(e.plan):
	case !retried && !asks && plan.held(e.plan):
		e.world.saw("held for " + y.Code)
	default:
		return fmt.Sprintf("a turn was put off for %s (%s), to be decided by %v", y.Code, y.Message, y.Choices)
	}
	return ""
}
