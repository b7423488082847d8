package node

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// ClaimBatch bounds the runs of one claim, so that a large node does not hold the store for long.
const ClaimBatch = 256

// schedule claims runs from the store whenever there is room, and dispatches them to workers. It
// sleeps until a hint of a queued run, a free worker, or the next poll, since hints may be lost.
func (n *Node) schedule(ctx context.Context) error {
	pause := Poller{Clock: n.proc.Clock, Wake: n.claims.wakeup, Interval: n.cfg.Poll}
	defer pause.Stop()
	defer n.stopClaiming()
	n.suspectsDue.Store(true)
	n.quarantine.nextScan = MonotonicNow(n.proc.Clock).Add(n.cfg.Lease / 3)
	noteClaim := sync.OnceFunc(func() { close(n.hasClaimed) })
	for {
		if n.awaitRoom(ctx) != nil {
			return nil // ctx ended
		}
		room := 1 + n.reserveMore(ClaimBatch-1)
		claimed, err := n.claimAndAnnounce(ctx, room) // may return runs and an error
		n.cfg.Permits.Release(int64(room - len(claimed)))
		for i := range claimed {
			n.proc.Notices.Claimed(&claimed[i].Run)
			n.dispatch(ownRecord(claimed, i))
		}
		if membershipEnded(err) {
			return err
		}
		if n.live.Err() != nil {
			return nil // a heartbeat found that the membership has ended, and ends the other loops
		}
		noteClaim()
		switch {
		case err != nil:
			n.proc.Log.Error("claim failed; trying again", "err", err)
		case len(claimed) == room && !n.claims.drained.Load():
			n.claims.urgent.Store(true)
			continue // there may be more
		case n.quarantine.scansNext:
			continue
		}
		if pause.Wait(ctx) != nil {
			return nil
		}
		if pause.IntervalOver() {
			n.suspectsDue.Store(true)
		}
		// Goroutines about to queue another run go first, so that one claim starts both.
		runtime.Gosched()
	}
}

// awaitRoom acquires a permit. Before it waits for one, it breaks the node's promise.
func (n *Node) awaitRoom(ctx context.Context) error {
	if ctx.Err() != nil || n.cfg.Permits.TryAcquire(1) {
		return ctx.Err()
	}
	n.claims.full.Store(true)
	defer n.claims.full.Store(false)
	n.claims.breakPromise()
	return n.cfg.Permits.Acquire(ctx, 1)
}

func (n *Node) stopClaiming() {
	n.claims.abstains.Store(true)
	n.claims.breakPromise()
}

// reserveMore acquires up to limit more permits without waiting, and returns their number. It
// halves its request until it succeeds, since the semaphore gives all or nothing.
func (n *Node) reserveMore(limit int) (reserved int) {
	for part := limit; part > 0; part /= 2 {
		for reserved+part <= limit && n.cfg.Permits.TryAcquire(int64(part)) {
			reserved += part
		}
	}
	return reserved
}

// claimAndAnnounce makes a claim. If the claim was promised and leaves work, it announces the
// work: the other nodes must know of runs that wait for slots, since they may free the next slot.
func (n *Node) claimAndAnnounce(ctx context.Context, room int) ([]store.Claimed, error) {
	c := n.claims
	promised, slot, drainedBefore := c.promised.Swap(false), c.promisedSlot.Swap(false), c.drained.Load()
	claimed, err := n.claim(ctx, room)
	drained := c.drained.Load()
	c.backlog.Store(!drained && len(claimed) < room)
	switch {
	case !promised && !slot:
	case err != nil || c.abstains.Load() || !drained && (drainedBefore || len(claimed) == room):
		c.announce(fsm.StateQueued)
	case drained && slot:
		c.announce(fsm.StateWaitingUser) // no queued run of these engines needs it
	}
	if n.quarantine.scanned && drainedBefore { // other runs were not looked for
		c.drained.Store(true)
		c.backlog.Store(false)
	}
	return claimed, err
}

// claimReady claims queued runs of this process's engines, and starts each one's turn in the same
// commit. A shutdown does not cancel a claim under way, or a claimed run would have no worker.
// noSuspects: no suspect is ready.
func (n *Node) claimReady(room int) (claimed []store.Claimed, noSuspects bool, err error) {
	now := n.proc.Now()
	var seen struct { // one allocation
		drained, noSuspects bool
		found               string
	}
	defer func() {
		n.claims.drained.Store(seen.drained)
		if seen.found != "" {
			n.claims.deferClaim(store.Hint{RunID: seen.found, State: fsm.StateQueued}, foundGaps)
		}
	}()
	starts := decide.Starts{Now: now}
	req := store.ClaimRequest{
		Node: n.id, Now: now, Max: room, Engines: n.cfg.Engines, Hinted: n.hinted.Swap(false), Drained: &seen.drained,
		NoSuspects: &seen.noSuspects, Start: starts.Start,
	}
	if n.claims.announcer != nil && !n.claims.urgent.Swap(false) && n.claims.peers.Load() > 1 {
		req.Found = &seen.found
	}
	if !req.Hinted {
		looked := MonotonicNow(n.proc.Clock)
		req.NextDue = func(at time.Time) { n.proc.Due.NoteLook(looked, now, at) }
	}
	if req.Found == nil || req.Hinted {
		n.claims.begun.Add(1)
	}
	claimed, err = n.proc.Store.Claim(n.live, req)
	if err == nil {
		starts.Recycle()
	}
	return claimed, seen.noSuspects, err
}

const smallBatch = 8

// ownRecord returns a claimed run and its spec, copied out of a large batch, so that an hours-long
// turn does not retain the others.
func ownRecord(claimed []store.Claimed, i int) (*store.Run, []byte) {
	record := &claimed[i].Run
	if len(claimed) > smallBatch {
		own := *record
		record = &own
	}
	return record, claimed[i].Spec
}

type assignment struct {
	turn       *turn
	storedSpec []byte
}

// dispatch gives a claimed run and the caller's permit to a worker, unless its turn executes here
// already.
func (n *Node) dispatch(run *store.Run, storedSpec []byte) {
	t := newTurn(&n.member, n, run)
	n.mu.Lock()
	earlier := n.turns[run.ID]
	if earlier != nil && (earlier.epoch < t.epoch || !earlier.created.Equal(t.created)) {
		earlier = nil // of an earlier claim or a pruned run: its fence is stale, which ends it
	}
	if earlier != nil && earlier.claimed.Equal(t.claimed) {
		n.mu.Unlock()
		n.cfg.Permits.Release(1)
		t.cancel(nil)
		return // a heartbeat found the run before its claim's answer, and its turn executes
	}
	repeated := earlier != nil || n.hasEnded(run)
	n.turns[run.ID] = t
	idle := n.idleWorkers > 0
	if idle {
		n.idleWorkers--
	}
	n.mu.Unlock()
	if t.ctx.Err() != nil { // die has not found the turn in turns
		t.interrupt(context.Cause(t.ctx))
	}
	if repeated {
		n.interruptRepeatedClaim(t, earlier)
	}
	n.assign(assignment{t, storedSpec}, idle)
}

// assign gives the turn to the idle worker that dispatch has chosen, or else to a new one.
func (n *Node) assign(a assignment, idle bool) {
	if idle {
		select {
		case n.assignments <- a: // the worker receives, or is about to
			return
		case <-n.leavingCh: // the idle worker may have ended
		}
	}
	n.workers.Add(1)
	go n.runWorker(a)
}

// interruptRepeatedClaim interrupts a turn whose run this node has already claimed under the same
// epoch: a failover lost the first claim. The first claim's turn, which is interrupted too, may
// have had effects. The next heartbeat settles the repeated turn as interrupted.
func (n *Node) interruptRepeatedClaim(t, earlier *turn) {
	n.proc.Log.Error("the store has lost a claim, and made it again; the turn is not executed twice",
		"run", t.call.RunID, "attempt", t.call.Attempt)
	if earlier != nil {
		earlier.interrupt(errCommitsLost)
	}
	t.interrupt(errCommitsLost)
}

// runWorker executes one turn after the other until the node leaves: a new goroutine would have to
// grow its stack again. It ends early if an engine exits its goroutine, or if the turn was settled
// without it; abandonWorker counts it as ended then.
func (n *Node) runWorker(a assignment) {
	defer func() {
		if !a.turn.settledWithoutWorker() {
			n.workers.Done()
		}
	}()
	for n.executeAssignment(a) {
		select {
		case a = <-n.assignments:
		case <-n.leavingCh:
			return
		}
	}
}

// executeAssignment executes a turn, releases its permit, and reports whether the worker may receive
// another assignment.
func (n *Node) executeAssignment(a assignment) (reusable bool) {
	defer func() {
		a.turn.cancel(nil)
		if reusable = reusable && !a.turn.settledWithoutWorker(); reusable {
			n.mu.Lock()
			n.idleWorkers++ // before the permit is released, so that the next dispatch finds this worker
			n.mu.Unlock()
		}
		backlog := !n.claims.drained.Load() // before the permit allows the next claim, which sees the slot
		n.cfg.Permits.Release(1)
		if backlog {
			n.claims.wakeUrgently()
		}
	}()
	a.turn.run(a.storedSpec)
	return true
}

// abandonWorker settles a turn whose worker is stuck in an engine, and keeps its permit until the
// engine returns.
func (n *Node) abandonWorker(t *turn, cause error, stuck *StuckCall) {
	defer n.workers.Done() // for the worker; see runWorker
	n.proc.Stuck.Add(stuck)
	n.proc.Log.Error("engine ignores that its turn has ended; going on without it, and without its place in "+
		"Concurrency until it returns", "call", stuck.String(), "cause", cause)
	t.settle(cause, t.collectEvidence(engine.Outcome{}))
}

// removeTurn removes a settled turn, and ends a resident process that the run no longer needs.
func (n *Node) removeTurn(t *turn, run *store.Run) {
	n.mu.Lock()
	latest := n.turns[run.ID]
	if latest == t {
		delete(n.turns, run.ID)
		n.ended[run.ID] = endedTurn{t.epoch, run.CreatedAt}
	}
	processLost, runEnded := t.processLost, t.runEnded
	n.mu.Unlock()
	if latest != nil && latest != t {
		return // the run's next turn executes here already, and owns the resident process
	}
	if processLost {
		n.settleLostProcess(n.live, run.ID, lostWhileWaiting)
	}
	n.policies.note(run)
	goesOn := !runEnded && (run.State == fsm.StateWaitingUser || run.State == fsm.StateQueued)
	if !goesOn || run.Profile != fsm.ProfileStickyProcess || run.Owner != n.id {
		n.endResidentAfterTurn(run.ID)
	}
}
