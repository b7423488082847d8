package lifecycle

import (
	"context"

	"github.com/interlude-go/interlude/store"
)

// claimBatch bounds how many runs one claim starts, so that a large node does not hold the store
// for long.
const claimBatch = 256

// schedule takes runs from the store as long as there is room to execute them.
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

// reserveMore takes up to limit more permits, as far as there are any.
func (n *node) reserveMore(limit int) (taken int) {
	for part := limit; part > 0; part /= 2 {
		for taken+part <= limit && n.slots.TryAcquire(int64(part)) {
			taken += part
		}
	}
	return taken
}

// claim starts runs whose engines this process has; runs of others stay queued (J4). It is not cut
// short by a shutdown, so that no claimed run is left without its worker.
func (n *node) claim(ctx context.Context, room int) ([]store.Claimed, error) {
	if ctx.Err() != nil {
		return nil, nil
	}
	now := commitTime(n.clock)
	start := func(r store.Run, _ []byte) (store.Commit, error) {
		return decideStart(&r, n.id, now)
	}
	req := store.ClaimRequest{Node: n.id, Now: now, Max: room, Engines: n.names, Told: n.hinted.Swap(false),
		Start: start}
	return n.store.Claim(n.live, req)
}

func (n *node) wakeScheduler() {
	select {
	case n.wakeup <- struct{}{}:
	default:
	}
}

// assignment is a turn for a worker.
type assignment struct {
	turn *turn
	ctx  context.Context //nolint:containedctx // it is handed to the worker with its turn
	spec []byte
}

// dispatch has a worker execute a claimed run: one that is idle, or a new one. The caller has taken
// a permit of n.slots for it, and the node does not leave yet.
func (n *node) dispatch(c store.Claimed) {
	ctx, cancel := context.WithCancelCause(n.live)
	t := &turn{
		node: n, epoch: c.Run.Epoch, started: monotonicNow(n.clock), cancel: cancel, record: c.Run,
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
	a := assignment{t, ctx, c.Spec}
	if idle {
		select {
		case n.assignments <- a: // it listens, or is about to
			return
		case <-n.leavingSignal: // it may have gone: man looked just before the node began to leave
		}
	}
	n.workers.Add(1)
	go n.runWorker(a)
}
