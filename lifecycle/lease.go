package lifecycle

import (
	"context"
	"maps"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// heartbeats keeps the node's lease at a third of its length, and compares what the store says that
// the node holds with what it executes. When the lease cannot be renewed for its whole length,
// others may have taken over: everything that executes here is ended, as it is when the store says
// that the lease is lost.
//
// Here a lease is a length of time on this machine, counted from before the store was asked:
// whatever clocks are set meanwhile, and whether the store refuses or never answers, the node gives
// up no later than others take over.
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

// renewLease asks for as long as is left of the lease.
func (n *node) renewLease(ctx context.Context, left time.Duration) ([]store.Hold, error) {
	ctx, cancel := context.WithTimeout(ctx, max(left, n.cfg.Lease/12))
	defer cancel()
	return n.store.Renew(ctx, n.id, n.leaseTime())
}

// compareHolds ends what executes here without right, and starts what is held here without a
// worker: the claim of it was stored, but its acknowledgement was lost. A run is unmanned when two
// renewals in a row find it so, since a claim may be on its way. What began only after the store
// was asked cannot be in its answer.
func (n *node) compareHolds(held []store.Hold, asked time.Time) {
	holds := make(map[string]store.Hold, len(held))
	unmanned := make(map[store.Hold]bool)
	var start []store.Hold
	var gone []string

	n.mu.Lock()
	for _, h := range held {
		holds[h.RunID] = h
		if h.State == fsm.StateRunning && n.turns[h.RunID] == nil {
			unmanned[h] = true
			if n.unexecuted[h] || n.dropped[h] {
				start = append(start, h)
			}
		}
	}
	n.unexecuted = unmanned
	maps.DeleteFunc(n.dropped, func(h store.Hold, _ bool) bool { return !unmanned[h] })
	for id, t := range n.turns {
		if h, ok := holds[id]; (!ok || h.Epoch != t.epoch) && t.started.Before(asked) && t.age() > n.cfg.Lease/3 {
			t.cancel(engine.ErrStale)
		}
	}
	for id, r := range n.residents {
		if _, ok := holds[id]; !ok && n.turns[id] == nil && r.since.Before(asked) {
			gone = append(gone, id)
		}
	}
	n.mu.Unlock()

	for _, id := range gone {
		n.endResidentOfEndedRun(id)
	}
	for _, h := range start {
		n.startUnexecuted(h)
	}
}

// startUnexecuted sees to a run that is held here without a worker. Where its claim was not
// acknowledged, its turn begins now. Where its turn was executed here and dropped, because the
// lease could not be renewed for its whole length or the outcome could not be stored, it was
// interrupted: it is not executed again but as E4 says.
func (n *node) startUnexecuted(h store.Hold) {
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

// settleDroppedTurn stores that a turn was dropped. What cannot be stored now is seen again by the
// next renewal.
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
