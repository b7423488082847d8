package lifecycle

import (
	"context"
	"maps"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// renewals keeps the node's lease at a third of its length, and compares what the store says that
// the node holds with what it executes. When the lease cannot be renewed for its whole length,
// others may have taken over: everything that executes here is ended, as it is when the store says
// that the lease is lost.
//
// Here a lease is a length of time on this machine, counted from before the store was asked:
// whatever clocks are set meanwhile, and whether the store refuses or never answers, the node gives
// up no later than others take over.
func (n *node) renewals(ctx context.Context) error {
	wait := n.cfg.Lease / 3
	for {
		if n.rest(ctx, wait) != nil {
			return nil
		}
		asked := instant(n.clock)
		held, err := n.renew(ctx, n.cfg.Lease-asked.Sub(n.renewed))
		if err == nil {
			n.renewed, wait = asked, n.cfg.Lease/3
			n.compare(held, asked)
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		if over(err) {
			n.die(engine.ErrStale)
			return err
		}
		n.log.Error("lease not renewed; trying again", "node", n.id, "err", err)
		wait = n.cfg.Lease / 12
		if left := n.cfg.Lease - instant(n.clock).Sub(n.renewed); left <= 0 {
			n.interrupt(engine.ErrStale)
		} else {
			wait = min(wait, left)
		}
	}
}

// renew asks for as long as is left of the lease.
func (n *node) renew(ctx context.Context, left time.Duration) ([]store.Hold, error) {
	ctx, cancel := context.WithTimeout(ctx, max(left, n.cfg.Lease/12))
	defer cancel()
	return n.store.Renew(ctx, n.id, n.leaseTime())
}

// compare ends what executes here without right, and starts what is held here without a worker: the
// claim of it was stored, but its acknowledgement was lost. A run is unmanned when two renewals in
// a row find it so, since a claim may be on its way. What began only after the store was asked
// cannot be in its answer.
func (n *node) compare(held []store.Hold, asked time.Time) {
	holds := make(map[string]store.Hold, len(held))
	unmanned := make(map[store.Hold]bool)
	var start []store.Hold
	var gone []string

	n.mu.Lock()
	for _, h := range held {
		holds[h.RunID] = h
		if h.State == fsm.StateRunning && n.turns[h.RunID] == nil {
			unmanned[h] = true
			if n.unmanned[h] || n.dropped[h] {
				start = append(start, h)
			}
		}
	}
	n.unmanned = unmanned
	maps.DeleteFunc(n.dropped, func(h store.Hold, _ bool) bool { return !unmanned[h] })
	for id, t := range n.turns {
		if h, ok := holds[id]; (!ok || h.Epoch != t.epoch) && t.begun.Before(asked) && t.lasted() > n.cfg.Lease/3 {
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
		n.dropResident(id)
	}
	for _, h := range start {
		n.man(h)
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
	cm, err := decideDroppedTurn(&run, n.id, stamp(n.clock))
	if err == nil {
		cm.Fence = &store.Fence{Node: n.id, Epoch: run.Epoch}
		if err = n.commit(n.live, cm); err == nil {
			n.alarm.run(&cm.Run)
		}
	}
	n.log.Warn("turn was dropped", "run", run.ID, "attempt", run.Attempt, "state", cm.Run.State, "err", err)
}
