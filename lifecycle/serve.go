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

// afterGrace is the most that Serve takes beyond Config.Grace: for turns to return once they were
// interrupted, to store what became of them, to end resident processes and to give the lease back.
// Engines that take longer are left behind.
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
// Nothing that it started outlives it but engine code that ignores its context: Serve ends at most
// 45 s after Grace, and a *StuckError (ErrStuck) says which calls it left behind; nothing that
// those still do changes a run. It returns ErrServing when it is going on already, an error when
// the store cannot be joined, and store.ErrClosed, wrapped, when the store was closed. Other store
// errors are logged and tried again, a lost lease included.
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

// serve is a member of the store again and again, as long as it loses its lease.
func (l *Lifecycle) serve(ctx context.Context) error {
	for again := false; ; again = true {
		n, err := l.join(ctx)
		if ctx.Err() != nil && err != nil {
			return nil
		}
		if again && err != nil && !errors.Is(err, store.ErrClosed) {
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
		if ctx.Err() != nil { // what it held is the others' to settle, and nothing here goes on
			return nil
		}
		l.log.Warn("lease lost: somebody took over; joining again", "node", n.id, "stuck", len(l.Stuck()))
	}
}

// node is one membership of this process: from joining the store to leaving it or losing the lease.
type node struct {
	*Lifecycle
	id            string
	wakeup        chan struct{} // something may be claimable
	hinted        atomic.Bool   // a hint told of something that is
	lostProcesses chan string   // run ids whose resident process ended by itself

	leaseFrom time.Time // for renewals alone: the instant from which the lease runs

	live             context.Context // ends when the node may not execute any more
	die              context.CancelCauseFunc
	residentCalls    context.Context // of resident processes that are ended meanwhile
	endResidentCalls context.CancelFunc
	workers          sync.WaitGroup
	assignments      chan assignment // taken by a worker that is idle
	leavingSignal    chan struct{}   // closed when no hint may start work any more: idle workers go

	mu          sync.Mutex
	idleWorkers int                 // guarded by mu; workers that nobody has chosen for a turn yet
	leaving     bool                // guarded by mu; the workers are waited for, nobody starts one any more
	turns       map[string]*turn    // guarded by mu; executing here, by run id
	residents   map[string]resident // guarded by mu; by run id, the processes held here
	unexecuted  map[store.Hold]bool // guarded by mu; held by us at the last renewal without a worker
	// guarded by mu; whose turn ended here without an outcome whose storing was acknowledged
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
	n.live, n.die = context.WithCancelCause(context.WithoutCancel(ctx))
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
		// whatever its workers still try to store would be refused, and the store may not even
		// answer
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

// membershipEnded reports whether an error of the store means that this node has no future.
func membershipEnded(err error) bool {
	return errors.Is(err, store.ErrStaleEpoch) || errors.Is(err, store.ErrClosed)
}

// handleHint looks at what the store tells of a commit: what may be claimable, and whose turn or
// process is over.
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
		t.cancel(engine.ErrCanceled)
	}
	if resident && t == nil {
		n.endResidentOfEndedRun(h.RunID)
	}
}

// drain ends the node in good order, in a time that is bounded (see afterGrace).
func (n *node) drain() {
	done := n.stopDispatch()
	renewing, stop := context.WithCancel(n.live)
	var keep errgroup.Group
	keep.Go(func() error { return n.heartbeats(renewing) })

	if n.cfg.Grace > 0 {
		n.waitAtMost(done, n.cfg.Grace)
	}
	n.interrupt(engine.ErrShutdown)
	n.waitAtMost(done, turnPatience+storeLimit)
	n.endResidentCalls()
	n.die(engine.ErrShutdown) // the store does not answer: give up what cannot be stored
	<-done
	stop()
	_ = keep.Wait() // a lost lease changes nothing any more

	lost := n.endResidents()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.live), storeLimit)
	defer cancel()
	for _, id := range lost { // a wait that only this process could end is over
		n.settleLostProcess(ctx, id, "the host shut down while the run waited")
	}
	if _, err := n.store.Expire(ctx, time.Time{}, n.id); err != nil {
		n.log.Warn("lease not given back; it runs out by itself", "node", n.id, "err", err)
	}
}

// stopDispatch ends the time in which hints start work. The channel is closed when no worker is
// left, but those that were left behind.
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

// waitAtMost waits for done, at most d.
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
		t.cancel(cause)
	}
}
