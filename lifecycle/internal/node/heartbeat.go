package node

import (
	"cmp"
	"context"
	"maps"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// endedTurn is a turn that has ended on this node.
type endedTurn struct {
	epoch   uint64
	created time.Time // when its run was created
}

func (c *Config) pace() time.Duration { return cmp.Or(c.Pace, c.Lease/3) }

// sendHeartbeats renews the node's lease at the node's pace. The store answers with the node's
// runs that hold a slot, which are compared with the executing runs. If the lease is lost, or
// expires before a renewal, other nodes may have taken over, so every turn here is interrupted.
// After an expiry, turns continue if no other node could renew its lease either (Outage).
//
// The node measures the lease on its machine, from before its request. So it gives up no later
// than other nodes take over, even if clocks are set or the store never answers.
func (n *Node) sendHeartbeats(ctx context.Context) error {
	interval, retry := n.cfg.pace(), n.cfg.Lease/12
	wait := interval
	var outage *Outage  // nil while renewals succeed
	var lastRead Outage // the last read of the other nodes' leases, for the next outage
	for {
		if n.proc.Sleep(ctx, wait) != nil {
			return nil
		}
		asked := MonotonicNow(n.proc.Clock)
		if outage == nil {
			if read := n.proc.OtherLeases(ctx, n.id, n.cfg.Lease/12); read != nil {
				lastRead = Outage{OthersAtStart: read, unchanged: asked}
			}
			begun := lastRead
			outage = &begun
		}
		held, err := n.renewLease(ctx, n.lease.Left(asked))
		if err == nil {
			n.lease.Renew(asked)
			outage, wait = nil, interval
			n.compareOwned(held, asked)
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		if membershipEnded(err) {
			n.die(engine.ErrStale)
			return err
		}
		n.proc.Log.Error("lease not renewed; trying again", "node", n.id, "err", err)
		read := n.proc.OtherLeases(ctx, n.id, n.cfg.Lease/12)
		now := MonotonicNow(n.proc.Clock)
		left := n.lease.Left(now)
		if outage.EndsTurns(read, now, left <= 0, n.cfg.Lease) {
			n.interruptTurns(engine.ErrStale)
		}
		if wait = retry; left > 0 {
			wait = min(retry, left)
		}
	}
}

// renewLease waits for the store's answer for the rest of the lease.
func (n *Node) renewLease(ctx context.Context, left time.Duration) ([]store.OwnedRun, error) {
	ctx, cancel := context.WithTimeout(ctx, max(left, n.cfg.Lease/12))
	defer cancel()
	return n.proc.Store.Renew(ctx, n.id, n.proc.LeaseTime())
}

// compareOwned compares the runs in a heartbeat's answer with the turns and resident processes
// here. A turn or process whose run is no longer owned is ended: the run was canceled or taken over.
// A run that is owned and running, but does not execute here, is settled.
func (n *Node) compareOwned(owned []store.OwnedRun, asked time.Time) {
	n.mu.Lock()
	unexecuted := n.findUnexecuted(owned)
	processes := n.interruptNotOwned(owned, asked)
	n.mu.Unlock()
	for _, id := range processes {
		n.endResidentOfEndedRun(id)
	}
	if len(unexecuted) == 0 {
		return
	}
	// One bound for all of them, so that the next heartbeat is in time.
	ctx, cancel := context.WithTimeout(n.live, n.cfg.Lease/12)
	defer cancel()
	for _, h := range unexecuted {
		n.settleUnexecuted(ctx, h)
	}
}

// findUnexecuted returns the owned running runs that do not execute here. It returns a run only
// if the run's turn has ended here, or if the previous heartbeat found the same: before that, the
// answer to the claim may be in transit. It also forgets turns that hasEnded no longer needs. The
// caller holds mu.
func (n *Node) findUnexecuted(owned []store.OwnedRun) (found []store.OwnedRun) {
	now := make(map[store.OwnedRun]bool)
	listed := make(map[string]bool)
	for _, h := range owned {
		if h.State == fsm.StateRunning && n.turns[h.RunID] == nil {
			now[h], listed[h.RunID] = true, true
			if n.unexecuted[h] || n.lastEnded(h.RunID).epoch >= h.Epoch {
				found = append(found, h)
			}
		}
	}
	n.unexecuted = now
	older := n.endedBefore
	maps.DeleteFunc(older, func(id string, _ endedTurn) bool {
		_, hasLater := n.ended[id] // then this is not the run's last turn
		return hasLater || !listed[id]
	})
	n.endedBefore, n.ended = n.ended, older
	return found
}

// hasEnded reports whether this node has recently ended a turn of the run under this epoch or a
// later one. If the run is running or claimed again, the turn's end was never stored, or a failover
// lost it: the turn must not be executed again.
//
// A turn is remembered until the second successful heartbeat after its end, and while heartbeats
// list its run as running. The caller holds mu.
func (n *Node) hasEnded(run *store.Run) bool {
	last := n.lastEnded(run.ID)
	return last.epoch >= run.Epoch && last.created.Equal(run.CreatedAt) // not of a pruned run with the same id
}

// lastEnded returns the run's last remembered turn, or the zero value. The caller holds mu.
func (n *Node) lastEnded(id string) endedTurn {
	if last, ok := n.ended[id]; ok {
		return last
	}
	return n.endedBefore[id]
}

// interruptNotOwned interrupts turns whose runs this node no longer owns, unless they are younger than
// a pace, and returns the runs whose resident processes must end. The caller holds mu.
func (n *Node) interruptNotOwned(owned []store.OwnedRun, asked time.Time) (processes []string) {
	epochs := make(map[string]uint64, len(owned))
	for _, h := range owned {
		epochs[h.RunID] = h.Epoch
	}
	for id, t := range n.turns {
		epoch, isOwned := epochs[id]
		if (!isOwned || epoch != t.epoch) && t.started.Before(asked) && t.age() > n.cfg.pace() {
			t.interrupt(engine.ErrStale)
		}
	}
	for id, r := range n.residents {
		if _, isOwned := epochs[id]; !isOwned && n.turns[id] == nil && r.since.Before(asked) {
			processes = append(processes, id)
		}
	}
	return processes
}

// settleUnexecuted settles an owned running run that does not execute here. If the claim's
// acknowledgement was lost, its turn is dispatched now. If its turn has ended here without a stored
// outcome, it counts as interrupted. A claim in progress reserves every free permit, so it waits for
// one until ctx ends.
func (n *Node) settleUnexecuted(ctx context.Context, h store.OwnedRun) {
	n.mu.Lock()
	leaving := n.leaving
	n.mu.Unlock()
	if leaving {
		return // the lease ends soon, and recovery settles the run
	}
	run, err := n.proc.Store.Run(n.live, h.RunID)
	if err != nil || run.State != fsm.StateRunning || run.Owner != n.id || run.Epoch != h.Epoch {
		return // it was settled, or the next heartbeat finds it again
	}
	n.mu.Lock()
	ended := n.hasEnded(&run)
	n.mu.Unlock()
	if ended {
		n.settleDroppedTurn(run)
		return
	}
	if n.cfg.Permits.Acquire(ctx, 1) != nil {
		return // the next heartbeat finds the run again
	}
	spec, err := n.proc.Store.Spec(n.live, run.ID)
	if err != nil {
		n.cfg.Permits.Release(1)
		return
	}
	n.proc.Log.Warn("starting a turn whose claim was not acknowledged", "run", run.ID, "attempt", run.Attempt)
	n.dispatch(&run, spec)
}

// settleDroppedTurn commits that a turn was dropped, or leaves the run to the next heartbeat.
func (n *Node) settleDroppedTurn(run store.Run) {
	cm, err := decide.DroppedTurn(&run, n.proc.Host, n.proc.Now())
	if err == nil {
		cm.Fence = &store.Fence{Node: n.id, Epoch: run.Epoch}
		err = n.proc.Commit(n.live, cm)
	}
	if err != nil {
		n.proc.Log.Warn("turn was dropped, which is not stored yet", "run", run.ID, "attempt", run.Attempt, "err", err)
		return
	}
	n.proc.Due.NoteRun(&cm.Run)
	n.proc.Log.Warn("turn was dropped", "run", run.ID, "attempt", run.Attempt, "state", cm.Run.State)
}
