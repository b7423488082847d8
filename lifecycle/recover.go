package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/internal/procid"
	"github.com/interlude-go/interlude/store"
)

// Recovery counts what a recovery did.
type Recovery struct {
	Nodes     int // processes found dead
	Preserved int // waits that go on (E1)
	Requeued  int // interrupted turns that will be repeated (E4)
	Failed    int // runs whose context is lost (E2, E3, E4)
}

// Recover settles what dead processes left (section E). Serve does it by itself, at its start and whenever a lease runs out; it
// may be called at any time, twice or by several processes at once, with the same result as once (E6). A wait that this call
// preserves belongs to no process, so a later restart finds nothing to recover in it; its next turn tells whether the session still is good.
func (c *Client) Recover(ctx context.Context) (Recovery, error) {
	return c.recover(ctx, "")
}

// recover takes over for the node, which from then on answers for the waits that it preserved.
func (c *Client) recover(ctx context.Context, node string) (Recovery, error) {
	var done Recovery
	dead, err := c.expireDead(ctx, node)
	done.Nodes = len(dead)
	if err == nil {
		err = c.sweep(ctx, node, &done)
	}
	if err != nil {
		return done, fmt.Errorf("lifecycle: recover: %w", err)
	}
	return done, nil
}

// front is where a part of a sweep begins: its first orphan, and what was settled by then.
type front struct {
	id      string
	version uint64
	done    Recovery
}

// sweep settles orphans until there are none. While some are settled, those behind them are read already. It ends with an error when it
// comes to the same orphan and has settled nothing since: a store may go on refusing, and the caller tries again later.
func (c *Client) sweep(ctx context.Context, node string, done *Recovery) error {
	var last front
	orphans, err := c.store.Orphans(ctx, 0, sweepBatch)
	for err == nil && len(orphans) > 0 {
		now := front{orphans[0].ID, orphans[0].Version, *done}
		if now == last {
			return fmt.Errorf("run %s is still an orphan, though it was tried and nothing else was settled since", now.id)
		}
		last = now
		if node != "" && slices.ContainsFunc(orphans, func(r Run) bool { return r.Owner == node }) {
			return store.ErrStaleEpoch // who preserves waits for a node that is not registered makes orphans without end
		}
		var next []Run
		both, while := errgroup.WithContext(ctx)
		both.Go(func() error { return c.reconcileAll(while, orphans, node, done) })
		both.Go(func() (err error) {
			next, err = c.store.Orphans(while, len(orphans), sweepBatch)
			return err
		})
		if err = both.Wait(); err == nil && len(next) == 0 { // what could not be settled, or moved up meanwhile
			next, err = c.store.Orphans(ctx, 0, sweepBatch)
		}
		orphans = next
	}
	return err
}

// reconcileSize is how many orphans one commit of recovery settles: few enough that the commits of others come between.
const reconcileSize = 100

// reconcileAll settles orphans in parts, two at one time: one is decided upon while the other is stored.
func (c *Client) reconcileAll(ctx context.Context, orphans []Run, node string, done *Recovery) error {
	var mu sync.Mutex // guards done
	parts, ctx := errgroup.WithContext(ctx)
	parts.SetLimit(2)
	for part := range slices.Chunk(orphans, reconcileSize) {
		parts.Go(func() error {
			settled, err := c.reconcile(ctx, part, node)
			mu.Lock()
			defer mu.Unlock()
			done.add(settled)
			return err
		})
	}
	return parts.Wait()
}

// expireDead takes the lease from nodes that are silent for its length or, on this machine, known to be dead. The node that asks is neither:
// after a sleep of its machine it may be the first to see that its own lease ran out, and keeps it if nobody has taken it.
func (c *Client) expireDead(ctx context.Context, node string) ([]store.Node, error) {
	nodes, err := c.store.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	var dead []string
	now, silent := c.leaseTime(), false
	for _, n := range nodes {
		ended := n.Until.Before(now)
		if n.ID == node {
			if ended {
				if _, err := c.store.Renew(ctx, node, now); err != nil {
					return nil, err
				}
			}
			continue
		}
		if procid.Alive(n.Identity) == procid.Dead {
			dead = append(dead, n.ID)
		}
		silent = silent || ended
	}
	if len(dead) == 0 && !silent {
		return nil, nil // a look costs no write
	}
	return c.store.Expire(ctx, now, dead...)
}

// reconcile settles a batch of orphans. A run that changed meanwhile was settled by somebody else.
func (c *Client) reconcile(ctx context.Context, orphans []Run, node string) (done Recovery, _ error) {
	batch := make([]store.Commit, 0, len(orphans))
	var failures []error
	for i := range orphans {
		run := &orphans[i]
		cm, err := transition(run, c.rescue(ctx, run, node))
		if err != nil {
			failures = append(failures, fmt.Errorf("run %s: %w", run.ID, err))
			continue
		}
		batch = append(batch, cm)
	}
	stored := 0
	for i, err := range c.store.Commit(ctx, batch) {
		switch {
		case err == nil:
			stored++
			done.count(batch[i].Run)
		case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound):
			stored++
		default:
			failures = append(failures, fmt.Errorf("run %s: %w", batch[i].Run.ID, err))
		}
	}
	if stored > 0 && ctx.Err() == nil {
		for _, err := range failures {
			c.log.Error("run not recovered; trying again", "err", err)
		}
		return done, nil
	}
	return done, errors.Join(failures...)
}

func (r *Recovery) add(o Recovery) {
	r.Preserved += o.Preserved
	r.Requeued += o.Requeued
	r.Failed += o.Failed
}

func (r *Recovery) count(run Run) {
	switch run.State {
	case fsm.StateWaitingUser:
		r.Preserved++
	case fsm.StateQueued:
		r.Requeued++
	default:
		r.Failed++
	}
}

// rescue says what becomes of an orphan, after what its worker left was ended (E7).
func (c *Client) rescue(ctx context.Context, run *Run, node string) *change {
	now := stamp(c.clock)
	ch := &change{
		event: fsm.EventRestartReconcileFailed, facts: fsm.FactContextLost | fsm.FactWorkerGone, now: now, node: node,
		recovery: store.FailedReconciled, settled: abandoned(run, now),
	}
	if run.Slot { // who executes or is resident; a run that waits for its engine's session has left nothing
		ch.warnings = c.reap(ctx, run)
	}
	switch {
	case run.State == fsm.StateRunning:
		again := &change{
			event: fsm.EventRestartRequeue, facts: fsm.FactWorkerGone, now: now, node: node,
			warnings: append(ch.warnings, engine.Diagnostic{Code: fsm.WarnTurnRepeated, Detail: "the worker died during the turn"}),
		}
		if _, err := fsm.Next(run.State, again.event, facts(run)|again.facts); err == nil {
			return again
		}
		ch.reason, ch.message = "worker gone", "the worker died during the turn, which may not be repeated"
	case run.Profile == fsm.ProfileStickyProcess:
		ch.reason, ch.message = "process gone", "the process that held the session died with its host"
	case run.State == fsm.StateWaitingUser:
		why := c.unresumable(ctx, run)
		if why == "" {
			return &change{
				event: fsm.EventRestartPreserveWaiting, facts: fsm.FactPendingMatches, now: now, node: node,
				recovery: store.RecoveredWaiting, reason: "pending question and session are intact",
			}
		}
		ch.reason, ch.message = "session lost", why
	}
	return ch
}

// unresumable says why a parked run cannot go on; empty when it can. Only a definite refusal counts: an
// engine that cannot tell now is asked again by the turn itself.
func (c *Client) unresumable(ctx context.Context, run *Run) string {
	switch {
	case run.Pending == nil:
		return "the pending question is missing"
	case run.Session == nil:
		return "the session handle is missing"
	}
	checker, ok := c.engines[run.Engine].(engine.Checker)
	if !ok {
		return ""
	}
	h := engine.Handle{Engine: run.Session.Engine, Version: run.Session.Version, Data: run.Session.Data}
	if err := checker.Check(ctx, run.ID, h); errors.Is(err, engine.ErrHandleRefused) {
		return shortened(err.Error())
	}
	return ""
}

// reap ends what the dead worker left; that it could not is a warning (E7).
func (c *Client) reap(ctx context.Context, run *Run) []engine.Diagnostic {
	r, ok := c.engines[run.Engine].(engine.Reaper)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := r.Reap(ctx, run.ID); err != nil {
		return []engine.Diagnostic{{Code: fsm.WarnOrphanReapFailed, Detail: shortened(err.Error())}}
	}
	return nil
}

// recoveries recovers at the start and whenever a lease may have run out.
func (n *node) recoveries(ctx context.Context) error {
	for {
		if done, err := n.recover(ctx, n.id); err != nil && ctx.Err() == nil {
			n.log.Error("recovery not finished; trying again", "err", err)
		} else if done != (Recovery{}) {
			n.log.Info("recovered", "nodes", done.Nodes, "preserved", done.Preserved, "requeued", done.Requeued, "failed", done.Failed)
		}
		if n.rest(ctx, n.cfg.Lease/3) != nil {
			return nil
		}
	}
}
