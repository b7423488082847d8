package node

import (
	"context"
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// claimState is a node's part in the claims of all nodes that share a store (store.Announcer). The
// process that commits work promises to claim it if it can, and its announcement says so. The nodes
// claim other announced work one after another, in an order that depends on the run (deferClaim), so
// that an announcement wakes neither all nodes together, nor always the same one first.
type claimState struct {
	*member

	announcer store.Announcer // nil: the node handles all hints like hints of this process
	wakeup    chan struct{}   // wakes the scheduler
	rank      atomic.Int64    // of this node among the registered ones, by age
	peers     atomic.Int64    // the number of registered nodes

	drained  atomic.Bool // the last claim left no ready run
	backlog  atomic.Bool // the last claim left ready runs although there was room here
	urgent   atomic.Bool // the next claim need not leave the runs that it finds to other nodes
	promised atomic.Bool // promisesClaim returned true, and no claim has begun since
	// promisedSlot: promisesClaim returned true for a free slot, and no claim has begun since.
	promisedSlot atomic.Bool
	full         atomic.Bool   // the scheduler waits for a permit
	abstains     atomic.Bool   // the scheduler claims nothing although there is room
	begun        atomic.Uint64 // the number of claims that have begun

	changed  chan struct{} // deferred has an earlier time
	mu       sync.Mutex
	deferred map[string]deferredClaim // guarded by mu; by the run that caused it
}

// deferredClaim is a claim to make unless another node makes it first.
type deferredClaim struct {
	due   time.Time
	begun uint64 // claimState.begun when it was deferred
	woken bool   // the scheduler was woken for it: kept for a while, since other nodes may still wait
	slot  bool   // only a free slot caused it
	seq   uint64 // Hint.Seq of the newest hint that caused it
}

// maxDeferred bounds the deferred claims. Beyond it, one claim is made for all other runs.
const maxDeferred = 1024

func newClaimState(of *member) *claimState {
	return &claimState{member: of, wakeup: make(chan struct{}, 1), changed: make(chan struct{}, 1),
		deferred: make(map[string]deferredClaim)}
}

// noteRank records this node's position among the registered ones, which are sorted by id and so by
// age.
func (c *claimState) noteRank(registered []string) {
	c.rank.Store(int64(max(0, slices.Index(registered, c.id))))
	c.peers.Store(int64(len(registered)))
}

// wake causes a claim, now or as soon as there is room.
func (c *claimState) wake() {
	select {
	case c.wakeup <- struct{}{}:
	default:
	}
}

func (c *claimState) wakeUrgently() {
	c.urgent.Store(true)
	c.wake()
}

// wakeForBacklog causes a claim if queued runs may wait for the freed capacity.
func (c *claimState) wakeForBacklog() {
	if !c.drained.Load() {
		c.wakeUrgently()
	}
}

// promisesClaim reports whether this node makes the claim that a commit of its process calls for.
// handleHint has already woken the scheduler for the commit.
func (c *claimState) promisesClaim(h store.Hint) bool {
	if h.State == fsm.StateRunning { // other nodes need to know of a claimed run only if they were about to claim it
		othersWait := c.forget(h)
		return !othersWait
	}
	if c.full.Load() || c.abstains.Load() {
		return false
	}
	switch {
	case h.State == fsm.StateQueued && !c.canClaim(h.Run):
		return false
	case h.State != fsm.StateQueued && c.drained.Load(): // others may have runs for the slot
		return false
	}
	if h.State != fsm.StateQueued {
		c.promisedSlot.Store(true)
	}
	c.promised.Store(true)
	if c.full.Load() || c.abstains.Load() { // checked last: unless a claim has begun since, none may come
		withdrawn := c.promised.Swap(false)
		return !withdrawn
	}
	return true
}

// breakPromise announces the work that the node has promised to claim and does not.
func (c *claimState) breakPromise() {
	if slot := c.promisedSlot.Swap(false); c.promised.Swap(false) || slot {
		c.announce(fsm.StateQueued)
	}
}

func (c *claimState) announce(state fsm.State) {
	if c.announcer != nil {
		c.announcer.Announce(state)
	}
}

// canClaim reports whether the scheduler's next claim picks the run if there is room.
func (c *claimState) canClaim(r *store.Run) bool {
	switch {
	case r == nil || r.Suspect() || r.Block != nil || r.NotBefore.After(r.UpdatedAt):
		return false
	case r.Slot:
		return r.Owner == c.id
	}
	_, has := slices.BinarySearch(c.cfg.Engines, r.Engine)
	return has
}

// claimGap is the time between two nodes' deferred claims. It exceeds the time of a claim, so that the
// later node usually sees that nothing is left.
const claimGap = 20 * time.Millisecond

// gap is the time between the deferred claims of two nodes that are next to each other in the order.
// Many nodes share a poll: after one poll, each has found the run.
func (c *claimState) gap(peers int64) time.Duration {
	return min(claimGap, c.cfg.Poll/time.Duration(peers))
}

// foundGaps is the number of additional gaps for a run that was found without an announcement: within
// that time the node that committed it usually claims it, and says so.
const foundGaps = 10

// manyNodes doubles the wait for such a run: the polls of many nodes find almost every run, and the
// server is slower.
const manyNodes = 50

// deferClaim has the scheduler claim at this node's place in the order, and some gaps later, unless
// another node claims the run before.
func (c *claimState) deferClaim(h store.Hint, gaps int64) {
	runID, slot := h.RunID, h.State != fsm.StateQueued && h.State != ""
	wait := min(time.Duration(gaps)*claimGap, c.cfg.Poll)
	if peers := c.peers.Load(); peers > 0 {
		sum := fnv.New32a()
		_, _ = sum.Write([]byte(runID))
		place := (c.rank.Load() + int64(sum.Sum32())) % peers
		wait += wait*time.Duration(peers)/manyNodes + time.Duration(place)*c.gap(peers)
	}
	at := MonotonicNow(c.proc.Clock).Add(wait)
	c.mu.Lock()
	if len(c.deferred) >= maxDeferred {
		runID = ""
	}
	claim := deferredClaim{due: at, begun: c.begun.Load(), slot: slot, seq: h.Seq}
	if earlier, ok := c.deferred[runID]; ok && !earlier.woken {
		claim.seq = max(h.Seq, earlier.seq)
		claim.slot = slot && earlier.slot
		claim.due = earlier.due // but a claim that has begun in the meantime may not have seen this work
	}
	c.deferred[runID] = claim
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// forget cancels the deferred claim of a run that was claimed, and reports whether there was one. A
// hint that was sent late says nothing about work that was announced since.
func (c *claimState) forget(claimed store.Hint) (found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	claim, found := c.deferred[claimed.RunID]
	if found = found && claim.seq <= claimed.Seq; found {
		delete(c.deferred, claimed.RunID)
	}
	return found
}

// serveDeferred makes the deferred claims when they are due.
func (c *claimState) serveDeferred(ctx context.Context) error {
	for {
		var tick <-chan time.Time
		release := func() {}
		if next := c.makeDue(); next > 0 {
			tick, release = c.proc.Clock.Timer(next)
		}
		select {
		case <-c.changed:
		case <-tick:
		case <-ctx.Done():
		}
		release()
		if ctx.Err() != nil {
			return nil
		}
	}
}

// makeDue wakes the scheduler for due claims, unless one has begun here since they were deferred. It
// returns the time until the next one; 0 without one.
func (c *claimState) makeDue() (next time.Duration) {
	now := MonotonicNow(c.proc.Clock)
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, claim := range c.deferred {
		left := claim.due.Sub(now)
		switch {
		case left > 0 && (next == 0 || left < next):
			next = left
		case left > 0:
		case claim.woken && left > -time.Second:
		case !claim.woken && claim.begun == c.begun.Load() && (!claim.slot || !c.drained.Load()):
			c.wakeUrgently()
			claim.woken = true
			c.deferred[id] = claim
		default:
			delete(c.deferred, id)
		}
	}
	return next
}
