package lifecycle

import (
	"context"
	"maps"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// heartbeats renews the node's lease whenever a third of it has passed. The store answers with the
// runs that the node holds, which are compared with those that execute here. When the store says
// that the lease is lost, or it could not be renewed for its whole length, other nodes may have
// taken over the runs: every turn that executes here is ended.
//
// The node measures the lease on its own machine, from before it asked the store. So it gives up no
// later than others take over, whatever clocks are set meanwhile, and even if the store never
// answers.
func (n *node) heartbeats(ctx context.Context) error {
	wait := n.cfg.Lease / 3
	for {
		if n.sleep(ctx, wait) != nil {
			return nil
		}
		asked := monotonicNow(n.clock)
		held, err := n.renewLease(ctx, n.cfg.Lease-asked.Sub(n.leaseFrom))
		if err == nil {
			n.leaseFrom, wait = asked, n.cfg.Lease/3
			n.compareHolds(held, asked)
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		if membershipEnded(err) {
			n.die(engine.ErrStale)
			return err
		}
		n.log.Error("lease not renewed; trying again", "node", n.id, "err", err)
		wait = n.cfg.Lease / 12
		if left := n.cfg.Lease - monotonicNow(n.clock).Sub(n.leaseFrom); left <= 0 {
			n.interrupt(engine.ErrStale)
		} else {
			wait = min(wait, left)
		}
	}
}

// renewLease waits for the store's answer for as long as is left of the lease.
func (n *node) renewLease(ctx context.Context, left time.Duration) ([]store.Hold, error) {
	ctx, cancel := context.WithTimeout(ctx, max(left, n.cfg.Lease/12))
	defer cancel()
	return n.store.Renew(ctx, n.id, n.leaseTime())
}

// compareHolds compares the runs that the node holds, by the store's answer to a heartbeat, with
// the turns and resident processes that are here.
//
//   - A turn or process whose run is not held any more is ended: the run was canceled, or taken
//     over. Turns that began after the store was asked cannot be in its answer, and are left alone.
//   - A run that is held and running, but does not execute here, is started or settled by
//     startUnexecuted. Two heartbeats in a row must find it so, since the answer to its claim may be
//     on its way.
func (n *node) compareHolds(held []store.Hold, asked time.Time) {
	holds := make(map[string]store.Hold, len(held))
	unexecuted := make(map[store.Hold]bool)
	var start []store.Hold
	var ended []string

	n.mu.Lock()
	for _, h := range held {
		holds[h.RunID] = h
		if h.State == fsm.StateRunning && n.turns[h.RunID] == nil {
			unexecuted[h] = true
			if n.unexecuted[h] || n.dropped[h] {
				start = append(start, h)
			}
		}
	}
	n.unexecuted = unexecuted
	maps.DeleteFunc(n.dropped, func(h store.Hold, _ bool) bool { return !unexecuted[h] })
	for id, t := range n.turns {
		if h, ok := holds[id]; (!ok || h.Epoch != t.epoch) && t.started.Before(asked) && t.age() > n.cfg.Lease/3 {
			t.interrupt(engine.ErrStale)
		}
	}
	for id, r := range n.residents {
		if _, ok := holds[id]; !ok && n.turns[id] == nil && r.since.Before(asked) {
			ended = append(ended, id)
		}
	}
	n.mu.Unlock()

	for _, id := range ended {
		n.endResidentOfEndedRun(id)
	}
	for _, h := range start {
		n.startUnexecuted(h)
	}
}

// startUnexecuted handles a run that the node holds and that does not execute here. If its claim
// was stored and the acknowledgement lost, its turn is dispatched now. If its turn was executed
// here and dropped, because the lease could not be renewed or the outcome could not be stored, the
// turn was interrupted, and is repeated only where the spec allows it (E4).
func (n *node) startUnexecuted(h store.Hold) {
	n.mu.Lock()
	leaving, dropped := n.leaving, n.dropped[h]
	n.mu.Unlock()
	if leaving {
		return // the lease is given back soon, and recovery settles the run
	}
	run, err := n.store.Run(n.live, h.RunID)
	if err != nil || run.State != fsm.StateRunning || run.Owner != n.id || run.Epoch != h.Epoch {
		return // the next heartbeat finds it again
	}
	if dropped {
		n.settleDroppedTurn(run)
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
	n.dispatch(store.Claimed{Run: run, Spec: spec})
}

// settleDroppedTurn commits that a turn was dropped. If the commit fails, the next heartbeat finds
// the run again.
func (n *node) settleDroppedTurn(run store.Run) {
	cm, err := decideDroppedTurn(&run, n.id, commitTime(n.clock))
	if err == nil {
		cm.Fence = &store.Fence{Node: n.id, Epoch: run.Epoch}
		if err = n.commit(n.live, cm); err == nil {
			n.due.noteRun(&cm.Run)
		}
	}
	n.log.Warn("turn was dropped", "run", run.ID, "attempt", run.Attempt, "state", cm.Run.State, "err", err)
}
