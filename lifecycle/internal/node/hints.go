package node

import (
	"context"
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// claimState is a node's part in the claims of all nodes that share a store (store.Announcer). The
// process that commits work claims it if it can, and the announcement of the commit says so. For
// other announcements the nodes take turns: see handleForeignHint.
type claimState struct {
	announcer store.Announcer // nil: every hint is as good as this process's
	begun     atomic.Uint64   // claims that have begun
	promised  atomic.Bool     // makesClaim said yes, and no claim has begun since
	full      atomic.Bool     // the scheduler waits for a permit
	abstains  atomic.Bool     // the scheduler claims nothing although there is room
	urgent    atomic.Bool     // the next claim need not leave what it finds to others: see claimLater
	backlog   atomic.Bool     // the last claim left runs behind although there was room here

	changed chan struct{} // later has an earlier time
	mu      sync.Mutex
	later   map[string]laterClaim // guarded by mu; by the run that the node would claim
}

// laterClaim is a claim that is made unless another node makes it first.
type laterClaim struct {
	due     time.Time
	begun   uint64 // the claims of this node that had begun before
	started bool   // kept for a while, so that makesClaim knows a run that others may wait for
}

// maxLater bounds the runs of laterClaims. Of more runs, one claim is made for all.
const maxLater = 1024

func newClaimState() *claimState {
	return &claimState{changed: make(chan struct{}, 1), later: make(map[string]laterClaim)}
}

// claimAnnounced makes a claim, and announces what it did not claim although it was promised: the
// other nodes must know of runs that wait for slots, since they may be the first to free one.
func (n *Node) claimAnnounced(ctx context.Context, room int) ([]store.Claimed, error) {
	c := n.claims
	promised, drainedBefore := c.promised.Swap(false), n.drained.Load()
	claimed, err := n.claim(ctx, room)
	drained := n.drained.Load()
	c.backlog.Store(!drained && len(claimed) < room)
	switch {
	case !promised:
	case err != nil || drainedBefore && !drained:
		n.announce(fsm.StateQueued)
	case drained && len(claimed) == 0:
		n.announce(fsm.StateWaitingUser) // a slot is free that no run of these engines wants
	}
	return claimed, err
}

// stopClaiming is called at the end of the scheduler.
func (n *Node) stopClaiming() {
	n.claims.abstains.Store(true)
	if n.claims.promised.Swap(false) {
		n.announce(fsm.StateQueued)
	}
}

// awaitRoom acquires a permit. Before it waits for one, it announces the promises that it cannot
// keep.
func (n *Node) awaitRoom(ctx context.Context) error {
	if n.cfg.Permits.TryAcquire(1) {
		return nil
	}
	n.claims.full.Store(true)
	defer n.claims.full.Store(false)
	if n.claims.promised.Swap(false) {
		n.announce(fsm.StateQueued)
	}
	return n.cfg.Permits.Acquire(ctx, 1)
}

func (n *Node) announce(state fsm.State) {
	if n.claims.announcer != nil {
		n.claims.announcer.Announce(state)
	}
}

// makesClaim reports whether this node makes the claim that a commit of its process calls for: the
// wake-up has come with the hint, before this call.
func (n *Node) makesClaim(h store.Hint) bool {
	if h.State == fsm.StateRunning { // calls for none, unless other nodes are about to claim the run
		return !n.claims.forget(h.RunID)
	}
	if n.claims.full.Load() || n.claims.abstains.Load() {
		return false
	}
	switch {
	case h.State == fsm.StateQueued && !n.canClaim(h.Run):
		return false
	case h.State != fsm.StateQueued && n.drained.Load(): // others may have runs for the slot
		return false
	}
	n.claims.promised.Store(true)
	if n.claims.full.Load() || n.claims.abstains.Load() { // since the first look, so no claim may come
		return !n.claims.promised.Swap(false)
	}
	return true
}

// canClaim reports whether the scheduler's next claim picks the run if there is room.
func (n *Node) canClaim(r *store.Run) bool {
	switch {
	case r == nil || r.Suspect() || r.Block != nil || r.NotBefore.After(r.UpdatedAt):
		return false
	case r.Slot:
		return r.Owner == n.id
	}
	_, has := slices.BinarySearch(n.cfg.Engines, r.Engine)
	return has
}

// handleHint handles the store's hint of a commit. A queued run wakes the scheduler. If a run has
// ended while its turn executes here, it was canceled, and the turn is interrupted.
func (n *Node) handleHint(h store.Hint) {
	if h.RunID == "" && h.State == "" { // anything may have changed
		n.scansForSuspects.Store(true)
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
	_, resident := n.residents[h.RunID]
	n.mu.Unlock()
	if t != nil {
		t.interrupt(engine.ErrCanceled)
	}
	if resident && t == nil {
		n.endResidentOfEndedRun(h.RunID)
	}
}

func (n *Node) wakeForHint(h store.Hint) {
	switch h.State {
	case fsm.StateQueued:
		// A backlog is looked at before a claim locks: it waits for slots, and so does this run.
		if n.claims.announcer == nil || n.canClaim(h.Run) && !n.claims.backlog.Load() {
			n.hinted.Store(true)
		}
		n.wakeScheduler()
	case "":
		n.wakeScheduler()
	case fsm.StateRunning:
	default: // a slot may be free
		n.wakeForBacklog()
	}
}

// turnGap is how long a node lets the node before it claim what another process has announced. It
// exceeds the time of a claim, so that the next node usually sees that nothing is left.
const turnGap = 20 * time.Millisecond

// handleForeignHint handles an announcement of another process. Each run has one node that looks at
// once; the others follow one by one, by their age, as long as something may be left. So an
// announcement neither wakes all nodes together, nor always the same one first.
func (n *Node) handleForeignHint(h store.Hint) {
	if h.Claimed || h.State == fsm.StateRunning {
		n.claims.forget(h.RunID)
		return
	}
	if h.State != fsm.StateQueued && h.State != "" && n.drained.Load() {
		return // a slot is free, and nothing waits for it as far as this node knows
	}
	n.mu.Lock()
	_, resident := n.residents[h.RunID]
	n.mu.Unlock()
	if resident { // only this node can claim it
		n.claims.urgent.Store(true)
		n.wakeScheduler()
		return
	}
	n.claimLater(h.RunID, 0)
}

// forget cancels the later claim of a run, which was claimed, and reports whether there was one.
func (c *claimState) forget(runID string) (found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, found = c.later[runID]
	delete(c.later, runID)
	return found
}

// claimLater has the scheduler claim when it is this node's turn, some turns later, unless another
// node claims the run before.
func (n *Node) claimLater(runID string, turns int64) {
	place := n.rank.Load()
	if peers := n.peers.Load(); peers > 0 {
		sum := fnv.New32a()
		_, _ = sum.Write([]byte(runID))
		place = (place + int64(sum.Sum32())) % peers
	}
	at := MonotonicNow(n.proc.Clock).Add(min(time.Duration(place+turns)*turnGap, n.cfg.Poll))
	c := n.claims
	c.mu.Lock()
	if len(c.later) >= maxLater {
		runID = ""
	}
	if _, ok := c.later[runID]; !ok {
		c.later[runID] = laterClaim{due: at, begun: c.begun.Load()}
	}
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// claimForeign wakes the scheduler when it is this node's turn to claim what another process has
// announced, unless a claim has begun here since the announcement.
func (n *Node) claimForeign(ctx context.Context) error {
	for {
		var tick <-chan time.Time
		release := func() {}
		if next := n.dueClaims(); next > 0 {
			tick, release = n.proc.Clock.Timer(next)
		}
		select {
		case <-n.claims.changed:
		case <-tick:
		case <-ctx.Done():
		}
		release()
		if ctx.Err() != nil {
			return nil
		}
	}
}

// dueClaims makes the later claims that are due, and returns the time until the next one; 0 without
// one.
func (n *Node) dueClaims() (next time.Duration) {
	now, c := MonotonicNow(n.proc.Clock), n.claims
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, claim := range c.later {
		left := claim.due.Sub(now)
		switch {
		case left > 0 && (next == 0 || left < next):
			next = left
		case left > 0:
		case claim.started && left > -time.Second:
		case !claim.started && claim.begun == c.begun.Load():
			c.urgent.Store(true)
			n.wakeScheduler()
			claim.started = true
			c.later[id] = claim
		default:
			delete(c.later, id)
		}
	}
	return next
}
