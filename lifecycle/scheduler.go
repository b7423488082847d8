package lifecycle

import (
	"context"

	"github.com/interlude-go/interlude/store"
)

// claimBatch bounds how many runs one claim starts, so that a large node does not hold the store
// for long.
const claimBatch = 256

// schedule is the scheduler: it claims runs from the store whenever there is room to execute them,
// and dispatches them to workers. It sleeps until it is woken, by a hint of a queued run or by a
// worker that is free again, and for one poll at most: hints may be lost.
func (n *node) schedule(ctx context.Context) error {
	idle := poller{clock: n.clock, wake: n.wakeup, interval: n.cfg.Poll}
	defer idle.stop()
	for {
		if n.slots.Acquire(ctx, 1) != nil {
			return nil // ctx ended
		}
		room := 1 + n.reserveMore(claimBatch-1)
		claimed, err := n.claim(ctx, room)
		n.slots.Release(int64(room - len(claimed)))
		for _, c := range claimed {
			n.dispatch(c)
		}
		if membershipEnded(err) {
			return err
		}
		if err != nil {
			n.log.Error("claim failed; trying again", "err", err)
		} else if len(claimed) == room {
			continue
		}
		if idle.wait(ctx) != nil {
			return nil
		}
	}
}

// reserveMore acquires up to limit more permits without waiting, and returns how many it got. It
// halves what it asks for until it gets it, because the semaphore gives all or nothing.
func (n *node) reserveMore(limit int) (reserved int) {
	for part := limit; part > 0; part /= 2 {
		for reserved+part <= limit && n.slots.TryAcquire(int64(part)) {
			reserved += part
		}
	}
	return reserved
}

// claim asks the store for queued runs, and starts the turn of each in the same commit as the store
// claims it in. Only runs whose engine this process has are claimed; others stay queued (J4). Once
// begun, a claim is not cut short by a shutdown, so that no claimed run is left without its worker.
func (n *node) claim(ctx context.Context, room int) ([]store.Claimed, error) {
	if ctx.Err() != nil {
		return nil, nil
	}
	now := commitTime(n.clock)
	start := func(r store.Run, _ []byte) (store.Commit, error) {
		return decideStart(&r, n.id, now)
	}
	req := store.ClaimRequest{Node: n.id, Now: now, Max: room, Engines: n.names, Hinted: n.hinted.Swap(false),
		Start: start}
	return n.store.Claim(n.live, req)
}

func (n *node) wakeScheduler() {
	select {
	case n.wakeup <- struct{}{}:
	default:
	}
}

// assignment is a turn that the dispatcher hands to a worker.
type assignment struct {
	turn *turn
	spec []byte
}

// dispatch hands a claimed run to an idle worker, or to a new one when none is idle. The caller
// holds a permit of n.slots for the turn, which the worker releases.
func (n *node) dispatch(c store.Claimed) {
	ctx, cancel := context.WithCancelCause(n.live)
	t := &turn{
		node: n, epoch: c.Run.Epoch, started: monotonicNow(n.clock), ctx: ctx, cancel: cancel, record: c.Run,
		profile: c.Run.Profile,
		call:    EngineCall{Engine: c.Run.Engine, Method: "RunTurn", RunID: c.Run.ID, Attempt: c.Run.Attempt},
	}
	n.mu.Lock()
	n.turns[c.Run.ID] = t
	idle := n.idleWorkers > 0
	if idle {
		n.idleWorkers--
	}
	n.mu.Unlock()
	if ctx.Err() != nil { // the node died before it knew of this turn
		t.interrupt(context.Cause(ctx))
	}
	a := assignment{t, c.Spec}
	if idle {
		select {
		case n.assignments <- a: // the idle worker receives, or is about to
			return
		case <-n.leavingSignal: // the idle worker may have ended, because the node is leaving
		}
	}
	n.workers.Add(1)
	go n.runWorker(a)
}
