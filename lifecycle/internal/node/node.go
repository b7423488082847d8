package node

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/internal/procid"
	"github.com/interlude-go/interlude/store"
)

// Node is one membership of this process in the store, from joining it to leaving it or losing the
// lease.
type Node struct {
	member

	lease         *OwnLease
	claims        *claimState
	quarantine    quarantine // only used by the scheduler
	policies      *policies
	hinted        atomic.Bool   // a hint reported a queued run, and no claim was made since
	suspectsDue   atomic.Bool   // suspects may be claimable: set once per poll, and at a NotBefore
	hasClaimed    chan struct{} // closed after the first claim, whatever it found
	hasRecovered  chan struct{} // closed after the first recovery pass
	lostProcesses chan string   // ids of runs whose resident process ended

	die context.CancelCauseFunc // ends live
	// endCtx is for calls that end one run's resident process, until endResidents ends all.
	endCtx    context.Context
	cancelEnd context.CancelFunc

	workers     sync.WaitGroup
	assignments chan assignment // received by idle workers
	leavingCh   chan struct{}   // closed when leaving is set: idle workers end

	mu          sync.Mutex          // guards the fields below
	idleWorkers int                 // waiting workers that dispatch has not chosen yet
	leaving     bool                // workers is being waited for, so a hint must not add to it
	turns       map[string]*turn    // executing here, by run id
	residents   map[string]resident // processes that engines here may hold, by run id
	// Runs that the last heartbeat listed as running here, without a turn here.
	unexecuted map[store.OwnedRun]bool
	// The last turn of each run that has ended here since the last heartbeat, and since the previous
	// one, by run id; see hasEnded.
	ended, endedBefore map[string]endedTurn
}

// Join makes this process a node of the store.
func Join(ctx context.Context, cfg *Config) (*Node, error) {
	p := cfg.Process
	n := &Node{
		member:     member{proc: p, cfg: cfg, id: NewID(p.Clock.Now())},
		hasClaimed: make(chan struct{}), hasRecovered: make(chan struct{}), lostProcesses: make(chan string, 64),
		assignments: make(chan assignment), leavingCh: make(chan struct{}),
		turns: make(map[string]*turn), residents: make(map[string]resident),
		unexecuted: make(map[store.OwnedRun]bool),
		ended:      make(map[string]endedTurn), endedBefore: make(map[string]endedTurn),
	}
	n.policies = newPolicies(cfg)
	n.claims = newClaimState(&n.member)
	live, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	n.live, n.die = live, func(cause error) {
		cancel(cause)
		n.interruptTurns(cause)
	}
	n.endCtx, n.cancelEnd = context.WithCancel(context.WithoutCancel(ctx))
	n.lease = NewOwnLease(cfg.Lease, MonotonicNow(p.Clock))
	self := store.Node{ID: n.id, Identity: procid.Self(), Lease: cfg.Lease, Engines: cfg.Engines}
	if err := p.Store.Join(ctx, self, p.LeaseTime()); err != nil {
		n.cancelEnd()
		n.die(nil)
		return nil, fmt.Errorf("lifecycle: join the store: %w", err)
	}
	return n, nil
}

// ID is the node's id in the store.
func (n *Node) ID() string { return n.id }

// Leased reports whether the node's lease is valid by this machine's monotonic clock.
func (n *Node) Leased() bool { return n.lease.Left(MonotonicNow(n.proc.Clock)) > 0 }

// Serve runs the node's loops until ctx ends, the lease is lost or the store is closed.
func (n *Node) Serve(ctx context.Context) error {
	defer n.die(nil)
	defer n.cancelEnd()
	announcer, announces := n.proc.Store.(store.Announcer)
	if announces { // before the first hint, which reads it
		n.claims.announcer = announcer
	}
	unsubscribe := n.cfg.Subscribe(n.handleHint)
	defer unsubscribe()
	if announces {
		defer announcer.Claims(n.claims.promisesClaim)()
	}
	stopWatching := n.watchResidents()
	defer stopWatching()

	loops, loopCtx := errgroup.WithContext(ctx)
	for _, loop := range []func(context.Context) error{
		n.schedule, n.watchDeadlines, n.recoverPeriodically, n.checkSessions, n.cleanUpProcesses, n.watchLostProcesses,
		n.sendHeartbeats, n.claims.serveDeferred, n.policies.serve,
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
func (n *Node) watchDeadlines(ctx context.Context) error {
	d := Deadlines{Process: n.proc, Poll: n.cfg.Poll, Wake: func(expected bool) {
		if expected { // it may have been the not-before time of a suspect
			n.suspectsDue.Store(true)
		}
		if expected || n.claims.announcer == nil { // otherwise a claim costs a transaction, and the scheduler polls
			n.claims.wake()
		}
	}}
	return d.Serve(ctx)
}

// recoverPeriodically makes a recovery pass at the start, and after each pace.
func (n *Node) recoverPeriodically(ctx context.Context) error {
	noteFirst := sync.OnceFunc(func() { close(n.hasRecovered) })
	return n.proc.NewRecoverer(ctx, n.id, n.lease).Serve(ctx, n.cfg.pace(), func(registered []string) {
		n.claims.noteRank(registered)
		noteFirst()
	})
}

func (n *Node) checkSessions(ctx context.Context) error {
	return n.proc.NewRecoverer(ctx, n.id, nil).ServeSessions(ctx, n.cfg.pace(), n.hasClaimed, n.hasRecovered)
}

// cleanUpProcesses ends processes of dead hosts on this machine.
func (n *Node) cleanUpProcesses(ctx context.Context) error {
	return n.proc.CleanUp(ctx, n.cfg.Lease)
}

// membershipEnded reports whether the error ends this node: a lost lease or a closed store.
func membershipEnded(err error) bool {
	return errors.Is(err, store.ErrStaleEpoch) || errors.Is(err, store.ErrClosed)
}

// handleHint handles the store's hint of a commit: it wakes the scheduler for work, and interrupts the
// turn of a run that was canceled.
func (n *Node) handleHint(h store.Hint) {
	if h.RunID == "" && (h.State == "" || n.claims.announcer == nil) { // anything may have changed
		n.suspectsDue.Store(true)
	}
	if n.claims.announcer != nil && h.Run == nil {
		n.handleForeignHint(h)
	} else {
		n.wakeForHint(h)
	}
	if !h.State.Terminal() {
		return
	}
	n.mu.Lock()
	t := n.turns[h.RunID]
	if t != nil { // removeTurn ends the resident process
		t.runEnded = true
	}
	n.mu.Unlock()
	if t != nil {
		t.interrupt(engine.ErrCanceled)
		return
	}
	n.endResidentOfEndedRun(h.RunID)
}

// wakeForHint handles a hint of this process's commit, or of any commit if the store announces none.
func (n *Node) wakeForHint(h store.Hint) {
	switch h.State {
	case fsm.StateQueued:
		switch {
		case n.claims.announcer == nil:
			n.hinted.Store(true)
		case !n.claims.canClaim(h.Run):
		case n.claims.backlog.Load(): // the run may have to wait for a slot, so the store must check before it locks
			n.claims.urgent.Store(true)
		default:
			n.hinted.Store(true)
		}
		n.claims.wake()
	case "":
		n.claims.wake()
	case fsm.StateRunning:
	default: // a slot may be free
		n.claims.wakeForBacklog()
	}
}

// handleForeignHint handles the announcement of another process's commit.
func (n *Node) handleForeignHint(h store.Hint) {
	if h.Claimed || h.State == fsm.StateRunning {
		n.claims.forget(h)
		return
	}
	if h.State != fsm.StateQueued && h.State != "" && n.claims.drained.Load() {
		return // a slot is free, and nothing waits for it as far as this node knows
	}
	n.mu.Lock()
	_, resident := n.residents[h.RunID]
	n.mu.Unlock()
	if resident { // only this node can claim it
		n.claims.wakeUrgently()
		return
	}
	n.claims.deferClaim(h, 0)
}

// giveUp ends everything that executes here, after a lost lease or a closed store: the store no
// longer accepts the workers' commits.
func (n *Node) giveUp() {
	n.die(engine.ErrStale)
	workersEnded := n.leave()
	n.waitAtMost(workersEnded, EndLimit)
	n.cancelEnd()
	<-workersEnded
	n.endResidents()
}

// shutDown lets turns finish for Config.Grace, interrupts the rest, ends the resident processes, and
// releases the lease.
func (n *Node) shutDown() {
	workersEnded := n.leave()
	beating, stop := context.WithCancel(n.live)
	var heartbeats errgroup.Group
	heartbeats.Go(func() error { return n.sendHeartbeats(beating) })

	switch {
	case n.cfg.Grace == math.MaxInt64: // lifecycle.UntilDone
		<-workersEnded
	case n.cfg.Grace > 0:
		n.waitAtMost(workersEnded, n.cfg.Grace)
	}
	n.interruptTurns(engine.ErrShutdown)
	n.waitAtMost(workersEnded, TurnReturnLimit+storeLimit)
	n.cancelEnd()
	n.die(engine.ErrShutdown) // outcomes that are not stored by now are lost
	<-workersEnded
	stop()
	_ = heartbeats.Wait() // a lost lease no longer matters

	ended := n.endResidents()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.live), storeLimit)
	defer cancel()
	for _, id := range ended { // a waiting run has lost the process that it needs
		n.settleLostProcess(ctx, id, "the host shut down while the run waited")
	}
	if _, err := n.proc.Expire(ctx, n.proc.LeaseTime(), []store.Node{{ID: n.id}}); err != nil {
		n.proc.Log.Warn("lease not given back; it runs out by itself", "node", n.id, "err", err)
	}
}

// AfterGrace bounds Serve's time beyond Config.Grace: for the engine calls of the loops,
// interrupted turns and their outcomes, the ends of resident processes, unsubscribe, and the last
// commits. Slower engine calls are left behind.
const AfterGrace = CallReturnLimit + TurnReturnLimit + storeLimit + CallReturnLimit + EndLimit +
	CallReturnLimit + LossLimit + CallReturnLimit + storeLimit

// storeLimit is how long a shutdown waits for the store, twice at most.
const storeLimit = 5 * time.Second

// leave lets idle workers end, and keeps hints from starting goroutines. The channel is closed when
// all workers have ended that are not stuck in an engine.
func (n *Node) leave() (workersEnded <-chan struct{}) {
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

func (n *Node) waitAtMost(done <-chan struct{}, d time.Duration) {
	tick, stop := n.proc.Clock.Timer(d)
	defer stop()
	select {
	case <-done:
	case <-tick:
	}
}

func (n *Node) interruptTurns(cause error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range n.turns {
		t.interrupt(cause)
	}
}
