package lifecycle

import (
	"context"
	"errors"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// sweepBatch is how many runs a sweep settles in one batch of commits.
const sweepBatch = store.MaxBatch

// deadlines fires what falls due. It sleeps until the next time that it knows of, at most a poll;
// any node may fire a deadline, the compare-and-set picks one.
func (n *node) deadlines(ctx context.Context) error {
	for {
		n.alarm.clear()
		now := stamp(n.clock)
		due, next, err := n.store.Due(ctx, now, sweepBatch)
		if errors.Is(err, store.ErrClosed) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			n.log.Error("deadlines not read; trying again", "err", err)
		}
		if n.fire(ctx, due, now) > 0 && len(due) == sweepBatch {
			continue // there may be more; but a store that refuses all of these is given time
		}
		n.alarm.at(next)
		n.wakeClaims() // a not-before time may have passed
		if n.untilDue(ctx) != nil {
			return nil
		}
	}
}

// untilDue sleeps until something is known to be due, at most a poll, however clocks are set
// meanwhile.
func (n *node) untilDue(ctx context.Context) error {
	poll, stop := n.clock.Timer(n.cfg.Poll)
	defer stop()
	for {
		var due <-chan time.Time
		forget := func() {}
		if next := n.alarm.known(); !next.IsZero() {
			d := next.Sub(n.clock.Now())
			if d <= 0 {
				return ctx.Err()
			}
			due, forget = n.clock.Timer(d)
		}
		select {
		case <-n.alarm.rung: // something falls due earlier than was known
			forget()
			continue
		case <-poll:
		case <-due:
		case <-ctx.Done():
		}
		forget()
		return ctx.Err()
	}
}

// fire settles the questions whose deadline has passed, and returns how many.
func (n *node) fire(ctx context.Context, due []Run, now time.Time) (fired int) {
	batch := make([]store.Commit, 0, len(due))
	for _, run := range due {
		cm, err := expire(run, now)
		if err != nil {
			n.log.Error("deadline cannot be fired", "run", run.ID, "err", err)
			continue
		}
		batch = append(batch, cm)
	}
	if len(batch) == 0 {
		return 0
	}
	for i, err := range n.store.Commit(ctx, batch) {
		if err == nil {
			fired++
		} else if !errors.Is(err, store.ErrConflict) && ctx.Err() == nil {
			n.log.Error("deadline not fired; trying again", "run", batch[i].Run.ID, "err", err)
		}
	}
	return fired
}

// expire is what a passed deadline makes of a waiting run (section D).
func expire(run Run, now time.Time) (store.Commit, error) {
	if run.Pending == nil {
		return store.Commit{}, errors.New("lifecycle: run has a deadline and no question")
	}
	passed := !run.Deadline.After(now)
	now = notBefore(now, run.UpdatedAt)
	ch := change{event: fsm.EventInteractionWaitTimeout, facts: fsm.FactPendingMatches, now: now}
	if passed {
		ch.facts |= fsm.FactDeadlinePassed
	}
	rule, _ := fsm.Wait(run.Profile, run.Strict)
	if rule.OnDeadline == fsm.DeadlineAutoDecide && facts(&run).Has(fsm.FactAutoDecisionLeft) {
		answer := interaction.NewAutoDecision(*run.Pending).Answer(now)
		record := interaction.Settle(*run.Pending, answer, "", "")
		ch.event, ch.answer, ch.settled = fsm.EventInteractionAutoDecideTimeout, &answer, &record
	} else {
		ch.settled = abandoned(&run, now)
		ch.message = "nobody replied within " + run.SessionTimeout.String()
	}
	return transition(&run, &ch)
}
