package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/internal/procid"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// membership is one membership of this process: from joining the store to leaving it or losing the lease.
type membership struct {
	*Lifecycle
	id            string
	wakeup        chan struct{} // wakes the scheduler: something may be claimable
	hinted        atomic.Bool   // a hint said that a run was queued, and no claim was made since
	drained       atomic.Bool   // the last claim left no ready run behind
	hasClaimed    chan struct{} // closed after the first claim, whatever it found
	hasRecovered  chan struct{} // closed after the first recovery pass
	lostProcesses chan string   // run ids whose resident process ended by itself

	lease *node.OwnLease
	rank  atomic.Int64 // of this node among the registered ones, by age; see suspectIsOverdue

	quarantine quarantine // for the scheduler alone
	// scansForSuspects is set once per poll, and when the NotBefore of a run has come: other claims
	// cost nothing more
	scansForSuspects atomic.Bool

	// live ends when the node may not execute any more: turns, and their commits, depend on it. A
	// shutdown ends it only when the turns have ended, or have taken too long.
	live context.Context
	die  context.CancelCauseFunc
	// endCtx is for the calls that end the resident process of a single run. At the end of the node
	// it is canceled first; then endResidents ends all processes that are left.
	endCtx    context.Context
	cancelEnd context.CancelFunc

	workers     sync.WaitGroup
	assignments chan assignment // received by idle workers
	leavingCh   chan struct{}   // closed when leaving is set: idle workers end

	mu          sync.Mutex
	idleWorkers int // guarded by mu; workers that wait and that dispatch has not chosen yet
	// guarded by mu; the node is ending: workers is being waited for, so a hint must not add to it
	// any more
	leaving   bool
	turns     map[string]*turn    // guarded by mu; executing here, by run id
	residents map[string]resident // guarded by mu; the processes that engines here may hold, by run id
	// guarded by mu; the runs that the store listed at the last heartbeat as running on this node,
	// though no turn of theirs was here
	unexecuted map[store.Hold]bool
	// guarded by mu; the last turn of each run that has ended here since the last heartbeat, and
	// between that and the one before it, by run id; see hasEnded
	ended, endedBefore map[string]endedTurn
}

// endedTurn is a turn that has ended on this node.
type endedTurn struct {
	epoch   uint64
	created time.Time // when its run was created
}

// join registers a new node with the store.
func (l *Lifecycle) join(ctx context.Context) (*membership, error) {
	n := &membership{
		Lifecycle: l, id: newID(l.proc.Clock.Now()),
		wakeup: make(chan struct{}, 1), hasClaimed: make(chan struct{}), hasRecovered: make(chan struct{}),
		lostProcesses: make(chan string, 64),
		assignments:   make(chan assignment), leavingCh: make(chan struct{}),
		turns: make(map[string]*turn), residents: make(map[string]resident),
		unexecuted: make(map[store.Hold]bool),
		ended:      make(map[string]endedTurn), endedBefore: make(map[string]endedTurn),
	}
	live, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	n.live, n.die = live, func(cause error) {
		cancel(cause)
		n.interruptTurns(cause)
	}
	n.endCtx, n.cancelEnd = context.WithCancel(context.WithoutCancel(ctx))
	n.lease = node.NewOwnLease(l.cfg.Lease, node.MonotonicNow(l.proc.Clock))
	self := store.Node{ID: n.id, Identity: procid.Self(), Lease: l.cfg.Lease, Engines: l.engineNames}
	if err := l.proc.Store.Join(ctx, self, l.proc.LeaseTime()); err != nil {
		n.cancelEnd()
		n.die(nil)
		return nil, fmt.Errorf("lifecycle: join the store: %w", err)
	}
	return n, nil
}

// serve runs the node's loops until ctx ends, the lease is lost or the store is closed.
func (n *membership) serve(ctx context.Context) error {
	defer n.die(nil)
	defer n.cancelEnd()
	hints := n.hub.subscribe(n.handleHint)
	defer hints.close()
	stopWatching := n.watchResidents()
	defer stopWatching()

	loops, loopCtx := errgroup.WithContext(ctx)
	for _, loop := range []func(context.Context) error{
		n.schedule, n.watchDeadlines, n.recoverPeriodically, n.checkSessions, n.cleanUpProcesses, n.watchLostProcesses,
		n.sendHeartbeats,
	} {
		loops.Go(func() error { return loop(loopCtx) })
	}
	if err := loops.Wait(); err != nil {
		n.giveUp()
		return err
	}
	n.shutDown()
	return nil
}

// watchDeadlines fires deadlines, and wakes the scheduler when a not-before time may have passed.
func (n *membership) watchDeadlines(ctx context.Context) error {
	d := node.Deadlines{Process: &n.proc, Poll: n.cfg.Poll, Wake: func(expected bool) {
		if expected { // it may have been the not-before time of a suspect
			n.scansForSuspects.Store(true)
		}
		n.wakeScheduler()
	}}
	return d.Serve(ctx)
}

// recoverPeriodically makes a recovery pass at the start, and whenever a third of a lease has
// passed.
func (n *membership) recoverPeriodically(ctx context.Context) error {
	noteFirst := sync.OnceFunc(func() { close(n.hasRecovered) })
	return n.proc.NewRecoverer(ctx, n.id, n.lease).Serve(ctx, n.cfg.Lease/3, func(registered []string) {
		n.noteRank(registered)
		noteFirst()
	})
}

// checkSessions checks the sessions of parked runs slowly.
func (n *membership) checkSessions(ctx context.Context) error {
	return n.proc.NewRecoverer(ctx, n.id, nil).ServeSessions(ctx, n.cfg.Lease/3, n.hasClaimed, n.hasRecovered)
}

// cleanUpProcesses ends the processes that dead hosts have left on this machine.
func (n *membership) cleanUpProcesses(ctx context.Context) error {
	return n.proc.CleanUp(ctx, n.cfg.Lease)
}

// membershipEnded reports whether the store's error means that this node may not go on: it has lost
// its lease, or the store is closed.
func membershipEnded(err error) bool {
	return errors.Is(err, store.ErrStaleEpoch) || errors.Is(err, store.ErrClosed)
}

// handleHint handles the store's hint of a commit. A queued run wakes the scheduler. If a run has
// ended while its turn executes here, it was canceled, and the turn is interrupted.
func (n *membership) handleHint(h store.Hint) {
	if h.RunID == "" { // anything may have changed
		n.scansForSuspects.Store(true)
	}
	switch h.State {
	case fsm.StateQueued:
		n.hinted.Store(true)
		n.wakeScheduler()
	case "":
		n.wakeScheduler()
	case fsm.StateRunning:
	default: // a slot may be free
		n.wakeForBacklog()
	}
	if !h.State.Terminal() {
		return
	}
	n.mu.Lock()
	t := n.turns[h.RunID]
	_, resident := n.residents[h.RunID]
	n.mu.Unlock()
	if t != nil {
		t.interrupt(engine.ErrCanceled)
	}
	if resident && t == nil {
		n.endResidentOfEndedRun(h.RunID)
	}
}

// giveUp ends everything that executes here, after the lease was lost or the store was closed: the
// store would refuse whatever the workers still commit, if it answers at all.
func (n *membership) giveUp() {
	n.die(engine.ErrStale)
	workersEnded := n.leave()
	n.waitAtMost(workersEnded, node.EndLimit)
	n.cancelEnd()
	<-workersEnded
	n.endResidents()
}

// shutDown lets turns finish for Config.Grace and interrupts the rest. Then it ends the resident
// processes, and gives the lease back. It takes afterGrace longer than Grace at most.
func (n *membership) shutDown() {
	workersEnded := n.leave()
	beating, stop := context.WithCancel(n.live)
	var heartbeats errgroup.Group
	heartbeats.Go(func() error { return n.sendHeartbeats(beating) })

	switch {
	case n.cfg.Grace == UntilDone:
		<-workersEnded
	case n.cfg.Grace > 0:
		n.waitAtMost(workersEnded, n.cfg.Grace)
	}
	n.interruptTurns(engine.ErrShutdown)
	n.waitAtMost(workersEnded, node.TurnReturnLimit+storeLimit)
	n.cancelEnd()
	n.die(engine.ErrShutdown) // gives up what the store has not stored by now
	<-workersEnded
	stop()
	_ = heartbeats.Wait() // a lost lease changes nothing any more

	ended := n.endResidents()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.live), storeLimit)
	defer cancel()
	for _, id := range ended { // a run that waits has lost the process that it needs
		n.settleLostProcess(ctx, id, "the host shut down while the run waited")
	}
	if _, err := n.proc.Expire(ctx, n.proc.LeaseTime(), []store.Node{{ID: n.id}}); err != nil {
		n.proc.Log.Warn("lease not given back; it runs out by itself", "node", n.id, "err", err)
	}
}

// afterGrace is the most that Serve takes beyond Config.Grace: for the engine calls of the loops to
// return, for interrupted turns to return and for their outcomes to be stored, for calls that end
// single resident processes to return, for endResidents, for unsubscribe, and for the store to
// learn of ended processes and of the lease's end. Serve returns without the engine calls that take
// longer.
const afterGrace = node.CallReturnLimit + node.TurnReturnLimit + storeLimit + node.CallReturnLimit + node.EndLimit +
	node.CallReturnLimit + node.LossLimit + node.CallReturnLimit + storeLimit

// storeLimit is how long a shutdown waits for the store, twice at most.
const storeLimit = 5 * time.Second

// leave lets idle workers end, and keeps hints from starting goroutines. The channel is closed when
// all workers have ended, except those that are stuck in an engine.
func (n *membership) leave() (workersEnded <-chan struct{}) {
	n.mu.Lock()
	if !n.leaving {
		n.leaving = true
		close(n.leavingCh)
	}
	n.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		n.workers.Wait()
		close(ended)
	}()
	return ended
}

// waitAtMost waits until done is closed, for d at most.
func (n *membership) waitAtMost(done <-chan struct{}, d time.Duration) {
	tick, stop := n.proc.Clock.Timer(d)
	defer stop()
	select {
	case <-done:
	case <-tick:
	}
}

// interruptTurns interrupts every turn that executes here.
func (n *membership) interruptTurns(cause error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range n.turns {
		t.interrupt(cause)
	}
}

// sendHeartbeats renews the node's lease whenever a third of it has passed. The store answers with
// the runs that the node owns with a slot, which are compared with those that execute here. When
// the store says that the lease is lost, or the lease could not be renewed for its whole length,
// other nodes may have taken over the runs: every turn that executes here is interrupted. In the
// second case the turns go on as long as no other node could renew its lease either; see outage.
//
// The node measures the lease on its own machine, from before it asked the store. So it gives up no
// later than others take over, whatever clocks are set meanwhile, and even if the store never
// answers.
func (n *membership) sendHeartbeats(ctx context.Context) error {
	interval, retry := n.cfg.Lease/3, n.cfg.Lease/12
	wait := interval
	var out *node.Outage // nil while renewals succeed
	for {
		if n.proc.Sleep(ctx, wait) != nil {
			return nil
		}
		asked := node.MonotonicNow(n.proc.Clock)
		if out == nil {
			out = &node.Outage{OthersAtStart: n.proc.OtherLeases(ctx, n.id, n.cfg.Lease/12)}
		}
		held, err := n.renewLease(ctx, n.lease.Left(asked))
		if err == nil {
			n.lease.Renew(asked)
			out, wait = nil, interval
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
		n.proc.Log.Error("lease not renewed; trying again", "node", n.id, "err", err)
		wait = retry
		if left := n.lease.Left(node.MonotonicNow(n.proc.Clock)); left > 0 {
			wait = min(retry, left)
		} else if others := n.proc.OtherLeases(ctx, n.id, n.cfg.Lease/12); out.EndsTurns(others,
			node.MonotonicNow(n.proc.Clock), n.cfg.Lease) {
			n.interruptTurns(engine.ErrStale)
		}
	}
}

// renewLease waits for the store's answer for as long as is left of the lease.
func (n *membership) renewLease(ctx context.Context, left time.Duration) ([]store.Hold, error) {
	ctx, cancel := context.WithTimeout(ctx, max(left, n.cfg.Lease/12))
	defer cancel()
	return n.proc.Store.Renew(ctx, n.id, n.proc.LeaseTime())
}

// compareHolds compares the runs that the node owns with a slot, by the store's answer to a
// heartbeat, with the turns and resident processes that are here.
//
//   - A turn or process whose run is not owned any more is ended: the run was canceled, or taken
//     over. What began after the store was asked cannot be in its answer, and is left alone; so is a
//     turn that is younger than a third of the lease.
//   - A run that is owned and running, but does not execute here, goes to settleUnexecuted. Two
//     heartbeats in a row must find it so, since the answer to its claim may be on its way; one is
//     enough where its turn has ended here.
func (n *membership) compareHolds(owned []store.Hold, asked time.Time) {
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

// findUnexecuted returns the runs that this node owns as running and that do not execute here,
// provided that the heartbeat before this one found the same, or that their turn has ended here. It
// also forgets the turns that hasEnded needs no more. The caller holds mu.
func (n *membership) findUnexecuted(owned []store.Hold) (found []store.Hold) {
	now := make(map[store.Hold]bool)
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

// hasEnded reports whether this node has recently ended a turn of the run under the run's present
// epoch or a later one. If the store lists the run as running all the same, or lets this node claim
// it again, then the end of the turn is not in the store: it was never stored, or a failover lost
// it after it was acknowledged. Such a turn has been executed, and must not be started as if it had
// not.
//
// A turn is remembered until the second successful heartbeat after its end, and for as long as
// heartbeats list its run as running. No heartbeat succeeds during an outage, so turns that ended
// just before it are remembered until it is over. The caller holds mu.
func (n *membership) hasEnded(run *store.Run) bool {
	last := n.lastEnded(run.ID)
	return last.epoch >= run.Epoch && last.created.Equal(run.CreatedAt) // not of a pruned run with the same id
}

// lastEnded returns the last turn of the run that has ended here, or the zero value if none is
// remembered. The caller holds mu.
func (n *membership) lastEnded(id string) endedTurn {
	if last, ok := n.ended[id]; ok {
		return last
	}
	return n.endedBefore[id]
}

// interruptNotOwned interrupts the turns whose runs this node does not own any more, and returns
// the runs whose resident processes are to be ended. The caller holds mu.
func (n *membership) interruptNotOwned(owned []store.Hold, asked time.Time) (processes []string) {
	epochs := make(map[string]uint64, len(owned))
	for _, h := range owned {
		epochs[h.RunID] = h.Epoch
	}
	for id, t := range n.turns {
		epoch, isOwned := epochs[id]
		if (!isOwned || epoch != t.epoch) && t.started.Before(asked) && t.age() > n.cfg.Lease/3 {
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

// settleUnexecuted starts or settles a run that the node owns as running and that does not execute
// here. If its claim was stored and the acknowledgement lost, its turn is dispatched now. If its
// turn has ended here, and the store does not have the outcome, the turn counts as interrupted, and
// is repeated only where the spec allows it (E4, J9).
//
// It waits for a permit until ctx ends: a claim in progress has reserved every free one, and claims
// may be in progress at every heartbeat.
func (n *membership) settleUnexecuted(ctx context.Context, h store.Hold) {
	n.mu.Lock()
	leaving := n.leaving
	n.mu.Unlock()
	if leaving {
		return // the lease is given back soon, and recovery settles the run
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
	if n.permits.Acquire(ctx, 1) != nil {
		return // the next heartbeat finds the run again
	}
	spec, err := n.proc.Store.Spec(n.live, run.ID)
	if err != nil {
		n.permits.Release(1)
		return
	}
	n.proc.Log.Warn("starting a turn whose claim was not acknowledged", "run", run.ID, "attempt", run.Attempt)
	n.dispatch(&run, spec)
}

// settleDroppedTurn commits that a turn was dropped. If the commit fails, the next heartbeat finds
// the run again.
func (n *membership) settleDroppedTurn(run store.Run) {
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
