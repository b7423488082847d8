package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/internal/procid"
	"github.com/interlude-go/interlude/store"
)

// claimBatch bounds how many runs one claim starts, so that a large node does not hold the store for long.
const claimBatch = 256

// Serve claims runs and executes them, fires deadlines and recovers what dead processes left, until ctx ends. Then
// it lets turns finish for Config.Grace, interrupts the rest, ends resident processes, gives its lease back, and returns nil. An interrupted
// turn goes back to the queue where the spec says that it may be repeated, and fails with
// ORCHESTRATOR_RESTART_INTERRUPTED otherwise. Nothing that it started outlives it. It returns ErrServing when it is going on already,
// and an error when the store cannot be joined; store errors later on are logged and tried again.
func (l *Lifecycle) Serve(ctx context.Context) error {
	if !l.serving.CompareAndSwap(false, true) {
		return ErrServing
	}
	defer l.serving.Store(false)
	for {
		n, err := l.join(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if err = n.serve(ctx); !errors.Is(err, store.ErrStaleEpoch) {
			return err
		}
		if ctx.Err() != nil { // what it held is the others' to settle, and nothing here goes on
			return nil
		}
		l.log.Warn("lease lost: somebody took over; joining again", "node", n.id)
	}
}

// node is one membership of this process: from joining the store to leaving it or losing the lease.
type node struct {
	*Lifecycle
	id    string
	slots *semaphore.Weighted // bounds what executes here at one time; capacity is the store's
	ready chan struct{}       // something may be claimable
	told  atomic.Bool         // a hint told of something that is
	lost  chan string         // run ids whose resident process ended by itself

	renewed time.Time // for renewals alone: the instant from which the lease runs

	live    context.Context // ends when the node may not execute any more
	die     context.CancelCauseFunc
	workers sync.WaitGroup
	next    chan assignment // taken by a worker that is idle
	left    chan struct{}   // closed when no hint may start work any more: idle workers go

	mu        sync.Mutex
	idle      int                 // guarded by mu; workers that nobody has chosen for a turn yet
	leaving   bool                // guarded by mu; the workers are waited for, nobody starts one any more
	turns     map[string]*turn    // guarded by mu; executing here, by run id
	residents map[string]resident // guarded by mu; by run id, the processes held here
	unmanned  map[store.Hold]bool // guarded by mu; held by us at the last renewal without a worker
	dropped   map[store.Hold]bool // guarded by mu; whose turn ended here without an outcome that was stored
}

// join registers a new node with the store.
func (l *Lifecycle) join(ctx context.Context) (*node, error) {
	n := &node{
		Lifecycle: l, id: newID(l.clock.Now()), slots: semaphore.NewWeighted(int64(l.cfg.Concurrency)),
		ready: make(chan struct{}, 1), lost: make(chan string, 64), next: make(chan assignment), left: make(chan struct{}),
		turns: make(map[string]*turn), residents: make(map[string]resident), unmanned: make(map[store.Hold]bool), dropped: make(map[store.Hold]bool),
	}
	n.live, n.die = context.WithCancelCause(context.WithoutCancel(ctx))
	n.renewed = instant(l.clock)
	err := l.store.Join(ctx, store.Node{ID: n.id, Identity: procid.Self(), Lease: l.cfg.Lease}, l.leaseTime())
	if err != nil {
		return nil, fmt.Errorf("lifecycle: join the store: %w", err)
	}
	return n, nil
}

// serve runs the node's loops until ctx ends or the lease is lost.
func (n *node) serve(ctx context.Context) error {
	defer n.die(nil)
	watch := n.hub.observe(n.hint)
	defer watch.close()
	defer n.watchResidents()()

	loops, loopCtx := errgroup.WithContext(ctx)
	for _, loop := range []func(context.Context) error{n.claims, n.deadlines, n.recoveries, n.losses, n.renewals} {
		loops.Go(func() error { return loop(loopCtx) })
	}
	err := loops.Wait()
	if errors.Is(err, store.ErrStaleEpoch) {
		n.die(engine.ErrStale) // whatever its workers still try to store would be refused, and the store may not even answer
		n.leave()
		n.workers.Wait()
		n.endResidents()
		return err
	}
	n.drain()
	return err
}

// hint looks at what the store tells of a commit: what may be claimable, and whose turn or process is over.
func (n *node) hint(h store.Hint) {
	if h.State == fsm.StateQueued {
		n.told.Store(true)
	}
	if h.State != fsm.StateRunning {
		n.wakeClaims()
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
		n.dropResident(h.RunID)
	}
}

func (n *node) wakeClaims() {
	select {
	case n.ready <- struct{}{}:
	default:
	}
}

// claims takes runs from the store as long as there is room to execute them.
func (n *node) claims(ctx context.Context) error {
	idle := idle{clock: n.clock, wake: n.ready, d: n.cfg.Poll}
	defer idle.end()
	for {
		if n.slots.Acquire(ctx, 1) != nil {
			return nil // ctx ended
		}
		room := 1 + n.spare(claimBatch-1)
		claimed, err := n.claim(ctx, room)
		n.slots.Release(int64(room - len(claimed)))
		for _, c := range claimed {
			n.begin(c)
		}
		if errors.Is(err, store.ErrStaleEpoch) {
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

// spare takes up to limit more permits, as far as there are any.
func (n *node) spare(limit int) (taken int) {
	for part := limit; part > 0; part /= 2 {
		for taken+part <= limit && n.slots.TryAcquire(int64(part)) {
			taken += part
		}
	}
	return taken
}

// claim is not cut short by a shutdown, so that no claimed run is left without its worker.
func (n *node) claim(ctx context.Context, room int) ([]store.Claimed, error) {
	if ctx.Err() != nil {
		return nil, nil
	}
	now := stamp(n.clock)
	return n.store.Claim(n.live, store.ClaimRequest{Node: n.id, Now: now, Max: room, Told: n.told.Swap(false), Start: func(r store.Run, _ []byte) (store.Commit, error) {
		return transition(&r, &change{event: fsm.EventTurnStarted, now: now, node: n.id})
	}})
}

// rest waits for as long as d; its error says that ctx ended.
func (n *node) rest(ctx context.Context, d time.Duration) error {
	tick, stop := n.clock.Timer(d)
	defer stop()
	select {
	case <-tick:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// drain ends the node in good order.
func (n *node) drain() {
	done := make(chan struct{})
	n.leave()
	go func() {
		n.workers.Wait()
		close(done)
	}()
	renewing, stop := context.WithCancel(n.live)
	var keep errgroup.Group
	keep.Go(func() error { return n.renewals(renewing) })

	if n.cfg.Grace > 0 {
		n.await(done, n.cfg.Grace)
	}
	n.interrupt(engine.ErrShutdown)
	n.await(done, max(n.cfg.Grace, 10*time.Second))
	n.die(engine.ErrShutdown) // the store does not answer: give up what cannot be stored
	<-done
	stop()
	_ = keep.Wait() // a lost lease changes nothing any more

	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.live), 5*time.Second)
	defer cancel()
	n.settleResidents(ctx)
	if _, err := n.store.Expire(ctx, time.Time{}, n.id); err != nil {
		n.log.Warn("lease not given back; it runs out by itself", "node", n.id, "err", err)
	}
}

// leave ends the time in which hints start work.
func (n *node) leave() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.leaving {
		n.leaving = true
		close(n.left)
	}
}

// await waits for done, at most d.
func (n *node) await(done <-chan struct{}, d time.Duration) {
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
