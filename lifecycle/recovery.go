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

// recover settles all orphans on behalf of the node, which becomes the owner of the waits that it
// preserves; an empty one stands for no node.
func (c *Client) recover(ctx context.Context, node string) (Recovery, error) {
	s := &recoveryPasses{client: c, node: node, base: ctx}
	err := s.recover(ctx)
	s.engineCalls.Wait()
	done, late := s.drainCounts()
	if err == nil && late != nil {
		err = fmt.Errorf("lifecycle: recover: %w", late)
	}
	return done, err
}

// recoveryPasses settles orphans: those of one Recover, or, pass after pass, those that a node
// finds. A pass asks the engines about its orphans, and waits engineWait for them. An orphan whose
// engine answers later is settled then, by itself, so that a hung engine holds up no other run
// (J10).
type recoveryPasses struct {
	client *Client
	node   string
	base   context.Context //nolint:containedctx // of the engine calls, which outlast a pass

	engineCalls sync.WaitGroup // and the commits for those that answered late

	mu         sync.Mutex
	awaited    map[string]bool // guarded by mu; the runs whose engine has not answered yet
	done       Recovery        // guarded by mu; since drainCounts
	lateFaults error           // guarded by mu; of runs whose engine answered late, since drainCounts
}

// drainCounts returns what was done since it was called last.
func (s *recoveryPasses) drainCounts() (done Recovery, failed error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	done, failed = s.done, s.lateFaults
	s.done, s.lateFaults = Recovery{}, nil
	return done, failed
}

// recover makes one pass: it expires the leases of dead nodes, and settles the orphans, except
// those whose engines have not answered yet.
func (s *recoveryPasses) recover(ctx context.Context) error {
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

// orphanPage is how many orphans are read at a time.
const orphanPage = store.MaxBatch

// passPosition is the first orphan of a page, and what was settled before it. A pass that comes to
// the same position twice makes no progress.
type passPosition struct {
	id      string
	version uint64
	done    Recovery
}

// settleOrphans settles orphans page by page until there are none left; the next page is read while
// one is settled. It returns an error when it makes no progress, because the store refuses the
// commits, say; the caller retries later.
func (s *recoveryPasses) settleOrphans(ctx context.Context) error {
	var last passPosition
	passed := 0 // orphans on the pages before this one, whose engines are awaited
	listed, err := s.client.store.Orphans(ctx, 0, orphanPage)
	for err == nil && len(listed) > 0 {
		orphans := s.withoutAwaited(listed)
		if len(orphans) == 0 {
			if len(listed) < orphanPage {
				return nil
			}
			passed += len(listed)
			listed, err = s.client.store.Orphans(ctx, passed, orphanPage)
			continue
		}
		s.mu.Lock()
		now := passPosition{orphans[0].ID, orphans[0].Version, s.done}
		s.mu.Unlock()
		if now == last {
			if err = s.checkChanged(ctx, now); err == nil { // others settled it after the page was read
				passed = 0
				listed, err = s.client.store.Orphans(ctx, 0, orphanPage)
			}
			continue
		}
		last = now
		if s.node != "" && slices.ContainsFunc(orphans, func(r Run) bool { return r.Owner == s.node }) {
			// This node's own runs are orphans, so its lease is lost. It must not go on: the waits
			// that it preserves would be orphans again.
			return store.ErrStaleEpoch
		}
		var next []Run
		both, while := errgroup.WithContext(ctx)
		both.Go(func() error { return s.settleAll(while, orphans) })
		both.Go(func() (err error) {
			next, err = s.client.store.Orphans(while, passed+len(listed), orphanPage)
			return err
		})
		// on the first page now: orphans that could not be settled, and those that moved up
		// meanwhile
		if err = both.Wait(); err == nil && len(next) == 0 {
			passed = 0
			next, err = s.client.store.Orphans(ctx, 0, orphanPage)
		}
		listed = next
	}
	return err
}

// checkChanged returns an error when the run at the position has not changed, so that another try
// is of no use.
func (s *recoveryPasses) checkChanged(ctx context.Context, f passPosition) error {
	run, err := s.client.store.Run(ctx, f.id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil && run.Version == f.version {
		err = fmt.Errorf("run %s is still an orphan, though it was tried and nothing else was settled since", f.id)
	}
	return err
}

// withoutAwaited are the orphans, except those whose engines have not answered yet.
func (s *recoveryPasses) withoutAwaited(listed []Run) []Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.awaited) == 0 {
		return listed
	}
	return slices.DeleteFunc(slices.Clone(listed), func(r Run) bool { return s.awaited[r.ID] })
}

// settleBatchSize is how many orphans one batch of commits settles: few enough that the commits of
// others are not held up.
const settleBatchSize = 100

// settleAll settles a page of orphans in batches, two at a time: while one is stored, the next is
// decided.
func (s *recoveryPasses) settleAll(ctx context.Context, orphans []Run) error {
	parts, ctx := errgroup.WithContext(ctx)
	parts.SetLimit(2)
	for part := range slices.Chunk(orphans, settleBatchSize) {
		parts.Go(func() error { return s.settleBatch(ctx, part) })
	}
	return parts.Wait()
}

// expireDead expires the leases of nodes that have not renewed them in time, and of nodes whose
// process on this machine is known to be dead. The node on whose behalf it is called is alive: if
// its own lease has run out, because its machine slept, it is renewed, unless another node has
// expired it.
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
		return nil, nil // without a write
	}
	return c.store.Expire(ctx, now, dead...)
}

// settleBatch settles a batch of orphans, except those whose engines do not answer soon. A conflict
// means that somebody else settled the run. It fails only if none could be settled; other failures
// are logged, and the next pass retries them.
func (s *recoveryPasses) settleBatch(ctx context.Context, orphans []Run) error {
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

// engineWait is how long a batch waits for the engines' answers.
const engineWait = time.Second

// inspect collects the evidence about each of the orphans. All engines are asked at the same time;
// the evidence is nil if an engine has not answered within engineWait, and the orphan is settled by
// itself when it has.
func (s *recoveryPasses) inspect(ctx context.Context, orphans []Run) []*orphanEvidence {
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
		s.engineCalls.Go(func() {
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
	s.engineCalls.Go(func() {
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
			if s.awaited == nil {
				s.awaited = make(map[string]bool)
			}
			s.awaited[orphans[i].ID] = true
		}
	}
	return found
}

// settleOne settles an orphan whose engine answered late.
func (s *recoveryPasses) settleOne(run *Run, found *orphanEvidence) {
	cm, err := decideOrphan(run, found, s.node)
	if err == nil {
		err = s.client.commit(s.base, cm)
	}
	if err == nil {
		s.count(cm.Run)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.awaited, run.ID)
	if err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
		s.lateFaults = errors.Join(s.lateFaults, fmt.Errorf("run %s: %w", run.ID, err))
	}
}

func (s *recoveryPasses) count(run Run) {
	s.client.due.noteRun(&run)
	var one Recovery
	one.count(run)
	s.add(one)
}

func (s *recoveryPasses) add(r Recovery) {
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

// asksEngine reports whether inspectOrphan calls the run's engine.
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
	if run.Slot { // it executes or is resident; a parked run without a slot has no process
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
	h := *handleOf(run.Session)
	what := EngineCall{Engine: run.Engine, Method: "Check", RunID: run.ID}
	err := c.call(ctx, checkLimit, what, func(ctx context.Context) error { return checker.Check(ctx, run.ID, h) })
	if errors.Is(err, engine.ErrHandleRefused) {
		return shortened(err.Error())
	}
	return ""
}

// reap has the engine end the processes that the dead worker left. A failure is a warning (E7).
func (c *Client) reap(ctx context.Context, run *Run) []interaction.Diagnostic {
	e, known := c.engines[run.Engine]
	if !known && len(c.engines) > 0 { // a node with the engine, on the worker's machine, could have done it
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

// recoverPeriodically makes a recovery pass at the start, and whenever a third of a lease has
// passed.
func (n *node) recoverPeriodically(ctx context.Context) error {
	s := &recoveryPasses{client: n.Client, node: n.id, base: ctx}
	defer s.engineCalls.Wait()
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
