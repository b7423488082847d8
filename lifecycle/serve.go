package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/internal/procid"
	"github.com/interlude-go/interlude/store"
)

// afterGrace is the most that Serve takes beyond Config.Grace: for interrupted turns to return, for
// their outcome to be stored, and for resident processes and the lease to be ended. Serve returns
// without the engine calls that take longer.
const afterGrace = callPatience + turnPatience + storeLimit + callPatience + endLimit + callPatience + lossLimit +
	callPatience + storeLimit

// storeLimit is how long a shutdown waits for the store, twice at most.
const storeLimit = 5 * time.Second

// Serve claims runs and executes them, fires deadlines and recovers what dead processes left, until
// ctx ends. Then it lets turns finish for Config.Grace, interrupts the rest, ends resident
// processes, gives its lease back, and returns nil. An interrupted turn goes back to the queue
// where the spec says that it may be repeated, and fails with ORCHESTRATOR_RESTART_INTERRUPTED
// otherwise.
//
// Serve waits for everything that it has started, except for engine code that ignores its context:
// it returns at most 45 s after Grace. A *StuckError (ErrStuck) then lists the calls that have not
// returned; whatever they still do changes no run. Serve returns ErrServing if the Lifecycle serves
// already, an error if the node cannot join the store, and store.ErrClosed (wrapped) if the store
// was closed. Other errors of the store, a lost lease among them, are logged and retried.
func (l *Lifecycle) Serve(ctx context.Context) error {
	if !l.serving.CompareAndSwap(false, true) {
		return ErrServing
	}
	defer l.serving.Store(false)
	err := l.serve(ctx)
	if calls := l.Stuck(); len(calls) > 0 {
		return errors.Join(err, &StuckError{Calls: calls})
	}
	return err
}

// serve joins the store as a node and serves; whenever the node has lost its lease, it joins again
// as a new one.
func (l *Lifecycle) serve(ctx context.Context) error {
	for rejoin := false; ; rejoin = true {
		n, err := l.join(ctx)
		if ctx.Err() != nil && err != nil {
			return nil
		}
		if rejoin && err != nil && !errors.Is(err, store.ErrClosed) {
			l.log.Error("trying again", "err", err)
			if l.sleep(ctx, l.cfg.Poll) != nil {
				return nil
			}
			continue
		}
		if err != nil {
			return err
		}
		err = n.serve(ctx)
		if errors.Is(err, store.ErrClosed) {
			return fmt.Errorf("lifecycle: serve: %w", err)
		}
		if !errors.Is(err, store.ErrStaleEpoch) {
			return err
		}
		if ctx.Err() != nil { // other nodes recover what this one held
			return nil
		}
		l.log.Warn("lease lost: somebody took over; joining again", "node", n.id, "stuck", len(l.Stuck()))
	}
}

// node is one membership of this process: from joining the store to leaving it or losing the lease.
type node struct {
	*Lifecycle
	id            string
	wakeup        chan struct{} // wakes the scheduler: something may be claimable
	hinted        atomic.Bool   // a hint said that a run was queued, and no claim was made since
	lostProcesses chan string   // run ids whose resident process ended by itself

	leaseFrom time.Time // when the lease began, by monotonicNow; the heartbeats' own

	live             context.Context // ends when the node may not execute any more
	die              context.CancelCauseFunc
	residentCalls    context.Context // of the calls that end single resident processes; ends earlier than live
	endResidentCalls context.CancelFunc
	workers          sync.WaitGroup
	assignments      chan assignment // received by idle workers
	leavingSignal    chan struct{}   // closed when the node begins to leave: idle workers end

	mu          sync.Mutex
	idleWorkers int                 // guarded by mu; workers that were given no assignment yet
	leaving     bool                // guarded by mu; no worker is started any more, since they are waited for
	turns       map[string]*turn    // guarded by mu; executing here, by run id
	residents   map[string]resident // guarded by mu; the processes that engines here may hold, by run id
	unexecuted  map[store.Hold]bool // guarded by mu; at the last heartbeat, held by this node and not executing
	// guarded by mu; turns that ended here, while nobody acknowledged that their outcome was stored
	dropped map[store.Hold]bool
}

// join registers a new node with the store.
func (l *Lifecycle) join(ctx context.Context) (*node, error) {
	n := &node{
		Lifecycle: l, id: newID(l.clock.Now()),
		wakeup: make(chan struct{}, 1), lostProcesses: make(chan string, 64), assignments: make(chan assignment),
		leavingSignal: make(chan struct{}),
		turns:         make(map[string]*turn), residents: make(map[string]resident),
		unexecuted: make(map[store.Hold]bool),
		dropped:    make(map[store.Hold]bool),
	}
	live, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	n.live, n.die = live, func(cause error) {
		cancel(cause)
		n.interrupt(cause)
	}
	n.residentCalls, n.endResidentCalls = context.WithCancel(context.WithoutCancel(ctx))
	n.leaseFrom = monotonicNow(l.clock)
	err := l.store.Join(ctx, store.Node{ID: n.id, Identity: procid.Self(), Lease: l.cfg.Lease, Engines: l.names},
		l.leaseTime())
	if err != nil {
		n.endResidentCalls()
		n.die(nil)
		return nil, fmt.Errorf("lifecycle: join the store: %w", err)
	}
	return n, nil
}

// serve runs the node's loops until ctx ends, the lease is lost or the store is closed.
func (n *node) serve(ctx context.Context) error {
	defer n.die(nil)
	defer n.endResidentCalls()
	watch := n.hub.subscribe(n.handleHint)
	defer watch.close()
	defer n.watchResidents()()

	loops, loopCtx := errgroup.WithContext(ctx)
	for _, loop := range []func(context.Context) error{n.schedule, n.watchDeadlines, n.recoverPeriodically,
		n.cleanUpProcesses, n.watchLostProcesses,
		n.heartbeats} {
		loops.Go(func() error { return loop(loopCtx) })
	}
	err := loops.Wait()
	if err != nil {
		// the store would refuse whatever the workers still commit, if it answers at all
		n.die(engine.ErrStale)
		done := n.stopDispatch()
		n.waitAtMost(done, endLimit)
		n.endResidentCalls()
		<-done
		n.endResidents()
		return err
	}
	n.drain()
	return nil
}

// membershipEnded reports whether the store's error means that this node may not go on: it has lost
// its lease, or the store is closed.
func membershipEnded(err error) bool {
	return errors.Is(err, store.ErrStaleEpoch) || errors.Is(err, store.ErrClosed)
}

// handleHint is called by the store for each commit that it hears of. A queued run may be
// claimable. A run that has ended is not executed any more: if its turn executes here, it was
// canceled.
func (n *node) handleHint(h store.Hint) {
	if h.State == fsm.StateQueued {
		n.hinted.Store(true)
	}
	if h.State != fsm.StateRunning {
		n.wakeScheduler()
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

// drain shuts the node down in order: turns may finish for Config.Grace and are interrupted then,
// resident processes end, and the lease is given back. It takes afterGrace longer at most.
func (n *node) drain() {
	done := n.stopDispatch()
	beating, stop := context.WithCancel(n.live)
	var heartbeats errgroup.Group
	heartbeats.Go(func() error { return n.heartbeats(beating) })

	if n.cfg.Grace > 0 {
		n.waitAtMost(done, n.cfg.Grace)
	}
	n.interrupt(engine.ErrShutdown)
	n.waitAtMost(done, turnPatience+storeLimit)
	n.endResidentCalls()
	n.die(engine.ErrShutdown) // the store does not answer: give up what cannot be stored
	<-done
	stop()
	_ = heartbeats.Wait() // a lost lease changes nothing any more

	lost := n.endResidents()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.live), storeLimit)
	defer cancel()
	for _, id := range lost { // these waits needed the process that has ended
		n.settleLostProcess(ctx, id, "the host shut down while the run waited")
	}
	if _, err := n.store.Expire(ctx, time.Time{}, n.id); err != nil {
		n.log.Warn("lease not given back; it runs out by itself", "node", n.id, "err", err)
	}
}

// stopDispatch lets idle workers end, and hints start no work any more. The channel is closed when
// all workers have ended, except those that are stuck in an engine.
func (n *node) stopDispatch() (done <-chan struct{}) {
	n.mu.Lock()
	if !n.leaving {
		n.leaving = true
		close(n.leavingSignal)
	}
	n.mu.Unlock()
	gone := make(chan struct{})
	go func() {
		n.workers.Wait()
		close(gone)
	}()
	return gone
}

// waitAtMost waits until done is closed, for d at most.
func (n *node) waitAtMost(done <-chan struct{}, d time.Duration) {
	tick, stop := n.clock.Timer(d)
	defer stop()
	select {
	case <-done:
	case <-tick:
	}
}

// interrupt cancels every turn that executes here.
func (n *node) interrupt(cause error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range n.turns {
		t.interrupt(cause)
	}
}
