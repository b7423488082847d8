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
	"github.com/interlude-go/interlude/interaction"
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

// Recover settles what dead processes left (section E). Serve does it by itself, at its start and
// whenever a lease runs out; it may be called at any time, twice or by several processes at once,
// with the same result as once (E6). A wait that this call preserves belongs to no process, so a
// later restart finds nothing to recover in it; its next turn tells whether the session still is
// good.
func (c *Client) Recover(ctx context.Context) (Recovery, error) { return c.recover(ctx, "") }

// recover takes over for the node, which from then on answers for the waits that it preserved. It
// ends when all is settled.
func (c *Client) recover(ctx context.Context, node string) (Recovery, error) {
	s := &recoverer{client: c, node: node, base: ctx}
	err := s.recover(ctx)
	s.background.Wait()
	done, late := s.drainCounts()
	if err == nil && late != nil {
		err = fmt.Errorf("lifecycle: recover: %w", late)
	}
	return done, err
}

// recoverer settles orphans, as one recovery or as those of one node. An orphan whose engine does
// not answer at once is settled by itself when it has (J10); nobody else waits for it.
type recoverer struct {
	client *Client
	node   string
	base   context.Context //nolint:containedctx // of what goes on beside one part of a sweep

	background sync.WaitGroup // calls of engines, and the commits of those that did not answer at once

	mu     sync.Mutex
	asked  map[string]bool // guarded by mu; the runs whose engine has not answered yet
	done   Recovery        // guarded by mu; since it was taken
	failed error           // guarded by mu; of runs that were settled by themselves, since it was taken
}

// drainCounts returns what was done since it was called last.
func (s *recoverer) drainCounts() (done Recovery, failed error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	done, failed = s.done, s.failed
	s.done, s.failed = Recovery{}, nil
	return done, failed
}

// recover expires dead nodes and settles their orphans, but those that engines are asked about.
func (s *recoverer) recover(ctx context.Context) error {
	dead, err := s.client.expireDead(ctx, s.node)
	s.add(Recovery{Nodes: len(dead)})
	if err == nil {
		err = s.settleOrphans(ctx)
	}
	if err != nil {
		return fmt.Errorf("lifecycle: recover: %w", err)
	}
	return nil
}

// recoveryPosition is where a part of a sweep begins: its first orphan, and what was settled by
// then.
type recoveryPosition struct {
	id      string
	version uint64
	done    Recovery
}

// settleOrphans settles orphans until there are none. While some are settled, those behind them are
// read already. It ends with an error when it comes to the same orphan and has settled nothing
// since: a store may go on refusing, and the caller tries again later.
func (s *recoverer) settleOrphans(ctx context.Context) error {
	var last recoveryPosition
	passed := 0 // whole pages of orphans whose engines are asked
	listed, err := s.client.store.Orphans(ctx, 0, recoveryBatch)
	for err == nil && len(listed) > 0 {
		orphans := s.withoutAsked(listed)
		if len(orphans) == 0 {
			if len(listed) < recoveryBatch {
				return nil
			}
			passed += len(listed)
			listed, err = s.client.store.Orphans(ctx, passed, recoveryBatch)
			continue
		}
		s.mu.Lock()
		now := recoveryPosition{orphans[0].ID, orphans[0].Version, s.done}
		s.mu.Unlock()
		if now == last {
			if err = s.unchanged(ctx, now); err == nil { // the list is older than what others did
				passed = 0
				listed, err = s.client.store.Orphans(ctx, 0, recoveryBatch)
			}
			continue
		}
		last = now
		if s.node != "" && slices.ContainsFunc(orphans, func(r Run) bool { return r.Owner == s.node }) {
			// who preserves waits for a node that is not registered makes orphans without end
			return store.ErrStaleEpoch
		}
		var next []Run
		both, while := errgroup.WithContext(ctx)
		both.Go(func() error { return s.settleAll(while, orphans) })
		both.Go(func() (err error) {
			next, err = s.client.store.Orphans(while, passed+len(listed), recoveryBatch)
			return err
		})
		if err = both.Wait(); err == nil && len(next) == 0 { // what could not be settled, or moved up meanwhile
			passed = 0
			next, err = s.client.store.Orphans(ctx, 0, recoveryBatch)
		}
		listed = next
	}
	return err
}

// unchanged returns an error when the run is as it was, so that to try it once more is of no use.
func (s *recoverer) unchanged(ctx context.Context, f recoveryPosition) error {
	run, err := s.client.store.Run(ctx, f.id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil && run.Version == f.version {
		err = fmt.Errorf("run %s is still an orphan, though it was tried and nothing else was settled since", f.id)
	}
	return err
}

// withoutAsked are the orphans but those whose engines are being asked.
func (s *recoverer) withoutAsked(listed []Run) []Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) == 0 {
		return listed
	}
	return slices.DeleteFunc(slices.Clone(listed), func(r Run) bool { return s.asked[r.ID] })
}

// settleBatchSize is how many orphans one commit of recovery settles: few enough that the commits
// of others come between.
const settleBatchSize = 100

// settleAll settles orphans in parts, two at one time: one is decided upon while the other is
// stored.
func (s *recoverer) settleAll(ctx context.Context, orphans []Run) error {
	parts, ctx := errgroup.WithContext(ctx)
	parts.SetLimit(2)
	for part := range slices.Chunk(orphans, settleBatchSize) {
		parts.Go(func() error { return s.settleBatch(ctx, part) })
	}
	return parts.Wait()
}

// expireDead takes the lease from nodes that are silent for its length or, on this machine, known
// to be dead. The node that asks is neither: after a sleep of its machine it may be the first to
// see that its own lease ran out, and keeps it if nobody has taken it.
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

// settleBatch settles a part of the orphans, but those whose engines do not answer at once. A run
// that changed meanwhile was settled by somebody else.
func (s *recoverer) settleBatch(ctx context.Context, orphans []Run) error {
	batch := make([]store.Commit, 0, len(orphans))
	var failures []error
	asked := 0
	for i, found := range s.inspect(ctx, orphans) {
		if found == nil {
			asked++
			continue
		}
		cm, err := decideOrphan(&orphans[i], found, s.node)
		if err != nil {
			failures = append(failures, fmt.Errorf("run %s: %w", orphans[i].ID, err))
			continue
		}
		batch = append(batch, cm)
	}
	if len(batch) == 0 {
		return errors.Join(failures...)
	}
	stored := asked
	for i, err := range s.client.store.Commit(ctx, batch) {
		switch {
		case err == nil:
			stored++
			s.count(batch[i].Run)
		case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound):
			stored++
		default:
			failures = append(failures, fmt.Errorf("run %s: %w", batch[i].Run.ID, err))
		}
	}
	if stored > 0 && ctx.Err() == nil {
		for _, err := range failures {
			s.client.log.Error("run not recovered; trying again", "err", err)
		}
		return nil
	}
	return errors.Join(failures...)
}

// engineWait is how long a part of a sweep waits for engines.
const engineWait = time.Second

// inspect collects the evidence about each of the orphans. Engines are asked all at one time; nil
// stands for an orphan whose engine has not answered soon, and which is settled by itself when it
// has.
func (s *recoverer) inspect(ctx context.Context, orphans []Run) []*orphanEvidence {
	found := make([]*orphanEvidence, len(orphans))
	var mu sync.Mutex // guards found and soon
	var answers sync.WaitGroup
	soon, asked := true, false
	for i := range orphans {
		run := &orphans[i]
		if !s.client.asksEngine(run) {
			found[i] = s.client.inspectOrphan(ctx, run)
			continue
		}
		asked = true
		answers.Add(1)
		s.background.Go(func() {
			one := s.client.inspectOrphan(s.base, run)
			mu.Lock()
			inTime := soon
			if inTime {
				found[i] = one
			}
			mu.Unlock()
			answers.Done()
			if !inTime {
				s.settleOne(run, one)
			}
		})
	}
	if !asked {
		return found
	}
	all := make(chan struct{})
	s.background.Go(func() {
		answers.Wait()
		close(all)
	})
	tick, stop := s.client.clock.Timer(engineWait)
	defer stop()
	select {
	case <-all:
	case <-tick:
	case <-ctx.Done():
	}
	mu.Lock()
	defer mu.Unlock()
	soon = false
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, one := range found {
		if one == nil {
			if s.asked == nil {
				s.asked = make(map[string]bool)
			}
			s.asked[orphans[i].ID] = true
		}
	}
	return found
}

// settleOne settles one orphan by itself.
func (s *recoverer) settleOne(run *Run, found *orphanEvidence) {
	cm, err := decideOrphan(run, found, s.node)
	if err == nil {
		err = s.client.commit(s.base, cm)
	}
	if err == nil {
		s.count(cm.Run)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asked, run.ID)
	if err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
		s.failed = errors.Join(s.failed, fmt.Errorf("run %s: %w", run.ID, err))
	}
}

func (s *recoverer) count(run Run) {
	s.client.due.noteRun(&run)
	var one Recovery
	one.count(run)
	s.add(one)
}

func (s *recoverer) add(r Recovery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done.add(r)
}

func (r *Recovery) add(o Recovery) {
	r.Nodes += o.Nodes
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

// asksEngine reports whether inspectOrphan calls code of the run's engine.
func (c *Client) asksEngine(run *Run) bool {
	e := c.engines[run.Engine]
	_, reaps := e.(engine.Reaper)
	_, checks := e.(engine.Checker)
	return run.Slot && reaps || run.State == fsm.StateWaitingUser && checks
}

// orphanEvidence is what an orphan's engine says about it.
type orphanEvidence struct {
	at           time.Time
	warnings     []interaction.Diagnostic
	sessionFault string // why a parked run cannot go on; empty when it can
}

// inspectOrphan ends what the orphan's worker left (E7), and asks the engine whether the session is
// still good.
func (c *Client) inspectOrphan(ctx context.Context, run *Run) *orphanEvidence {
	found := new(orphanEvidence)
	if run.Slot { // who executes or is resident; a run that waits for its engine's session has left nothing
		found.warnings = c.reap(ctx, run)
	}
	if run.State == fsm.StateWaitingUser && run.Profile != fsm.ProfileStickyProcess {
		found.sessionFault = c.sessionFault(ctx, run)
	}
	found.at = commitTime(c.clock)
	return found
}

// sessionFault says why a parked run cannot go on; empty when it can. Only a definite refusal
// counts: an engine that cannot tell now is asked again by the turn itself.
func (c *Client) sessionFault(ctx context.Context, run *Run) string {
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
	what := EngineCall{Engine: run.Engine, Method: "Check", RunID: run.ID}
	err := c.call(ctx, checkLimit, what, func(ctx context.Context) error { return checker.Check(ctx, run.ID, h) })
	if errors.Is(err, engine.ErrHandleRefused) {
		return shortened(err.Error())
	}
	return ""
}

// reap ends what the dead worker left; that it could not is a warning (E7).
func (c *Client) reap(ctx context.Context, run *Run) []interaction.Diagnostic {
	e, known := c.engines[run.Engine]
	if !known && len(c.engines) > 0 { // a node of the same machine might have been able to
		return []interaction.Diagnostic{{
			Code: fsm.WarnOrphanReapFailed,
			Detail: fmt.Sprintf("engine %q is not configured in the process that recovered the run: if its worker "+
				"left processes, they were not ended", run.Engine),
		}}
	}
	r, ok := e.(engine.Reaper)
	if !ok {
		return nil
	}
	what := EngineCall{Engine: run.Engine, Method: "Reap", RunID: run.ID}
	if err := c.call(ctx, reapLimit, what, func(ctx context.Context) error { return r.Reap(ctx, run.ID) }); err != nil {
		return []interaction.Diagnostic{{Code: fsm.WarnOrphanReapFailed, Detail: shortened(err.Error())}}
	}
	return nil
}

// recoverPeriodically recovers at the start and whenever a lease may have run out.
func (n *node) recoverPeriodically(ctx context.Context) error {
	s := &recoverer{client: n.Client, node: n.id, base: ctx}
	defer s.background.Wait()
	for {
		err := s.recover(ctx)
		done, late := s.drainCounts()
		if errors.Is(err, store.ErrClosed) {
			return err
		}
		if err = errors.Join(err, late); err != nil && ctx.Err() == nil {
			n.log.Error("recovery not finished; trying again", "err", err)
		} else if done != (Recovery{}) {
			n.log.Info("recovered", "nodes", done.Nodes, "preserved", done.Preserved, "requeued", done.Requeued,
				"failed", done.Failed)
		}
		if n.sleep(ctx, n.cfg.Lease/3) != nil {
			return nil
		}
	}
}
