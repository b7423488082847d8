package lifecycle

import (
	"fmt"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// release takes the turn off the node's books, and ends a resident process that nobody needs any
// more.
func (n *node) release(t *turn, run store.Run) {
	n.mu.Lock()
	latest := n.turns[run.ID]
	if latest == t {
		delete(n.turns, run.ID)
	}
	if latest == t && !t.settled {
		// Whatever the record says now: it may not be durable, and the turn must not be executed
		// again because a failover shows it running. The next renewal that does not list it forgets
		// this.
		n.dropped[store.Hold{RunID: run.ID, Epoch: t.epoch, State: fsm.StateRunning}] = true
	}
	orphaned := t.orphaned
	n.mu.Unlock()
	if latest != nil && latest != t {
		return // the run went on here before this turn knew that its outcome was stored: its process is the next turn's
	}
	if orphaned {
		n.settleLoss(n.live, run.ID, lostWhileWaiting)
	}
	keeps := run.State == fsm.StateWaitingUser || run.State == fsm.StateQueued
	if !keeps || run.Profile != fsm.ProfileStickyProcess || run.Owner != n.id {
		n.loseResident(run.ID)
	}
}

// man sees to a run that is held here without a worker. Where its claim was not acknowledged, its
// turn begins now. Where its turn was executed here and dropped, because the lease could not be
// renewed for its whole length or the outcome could not be stored, it was interrupted: it is not
// executed again but as E4 says.
func (n *node) man(h store.Hold) {
	n.mu.Lock()
	leaving, dropped := n.leaving, n.dropped[h]
	n.mu.Unlock()
	if leaving {
		return // the lease is given back soon, and recovery settles the run
	}
	run, err := n.store.Run(n.live, h.RunID)
	if err != nil || run.State != fsm.StateRunning || run.Owner != n.id || run.Epoch != h.Epoch {
		return // the next renewal sees it again
	}
	if dropped {
		n.settleDropped(run)
		return
	}
	if !n.slots.TryAcquire(1) {
		return
	}
	spec, err := n.store.Spec(n.live, run.ID)
	if err != nil {
		n.slots.Release(1)
		return
	}
	n.log.Warn("starting a turn whose claim was not acknowledged", "run", run.ID, "attempt", run.Attempt)
	n.begin(store.Claimed{Run: run, Spec: spec})
}

// settleDropped stores that a turn was dropped. What cannot be stored now is seen again by the next
// renewal.
func (n *node) settleDropped(run store.Run) {
	ch := broken(&run, false, "the host could not renew its lease, or store the outcome, during the turn")
	ch.now, ch.node = stamp(n.clock), n.id
	cm, err := transition(&run, &ch)
	if err == nil {
		cm.Fence = &store.Fence{Node: n.id, Epoch: run.Epoch}
		if err = n.commit(n.live, cm); err == nil {
			n.alarm.run(&cm.Run)
		}
	}
	n.log.Warn("turn was dropped", "run", run.ID, "attempt", run.Attempt, "state", cm.Run.State, "err", err)
}

// broken is what becomes of a turn that its own node ended, or that lost its agent: back to the
// queue where it may be repeated. In good order is a shutdown of the host, which is no fault of the
// turn and uses up none of its repeats (J3).
func broken(run *store.Run, orderly bool, why string) change {
	ch := change{
		event: fsm.EventRestartRequeue, facts: fsm.FactWorkerGone, orderly: orderly,
		warnings: []engine.Diagnostic{{Code: fsm.WarnTurnRepeated, Detail: why}},
	}
	if allowed(run, &ch) {
		return ch
	}
	if !orderly {
		why = unrepeated(run, why)
	}
	return change{event: fsm.EventRestartReconcileFailed, facts: fsm.FactWorkerGone, orderly: orderly, message: why}
}

// allowed reports whether the run may take the transition.
func allowed(run *store.Run, ch *change) bool {
	_, err := fsm.Next(run.State, ch.event, ch.factsOf(run))
	return err == nil
}

// unrepeated says why a turn is not executed again, for a person.
func unrepeated(run *store.Run, why string) string {
	if facts(run).Has(fsm.FactRepeatsExhausted) {
		return shortened(fmt.Sprintf("%s; it was repeated %d times in a row, which is the limit", why, run.Repeats))
	}
	return why
}
