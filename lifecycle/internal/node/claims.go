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
// process that commits work claims it if it can, and the announcement of the commit says so. For
// other announcements the nodes take turns: see Node.handleForeignHint.
type claimState struct {
	*member

	wakeup    chan<- struct{} // wakes the scheduler
	drained   atomic.Bool     // the last claim left no ready run
	rank      atomic.Int64    // of this node among the registered ones, by age; see suspectIsOverdue
	peers     atomic.Int64    // the number of registered nodes
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

func newClaimState(of *member, wakeup chan<- struct{}) *claimState {
	return &claimState{member: of, wakeup: wakeup, changed: make(chan struct{}, 1), later: make(map[string]laterClaim)}
}

// makesClaim reports whether this node makes the claim that a commit of its process calls for: the
// wake-up has come with the hint, before this call.
func (c *claimState) makesClaim(h store.Hint) bool {
	if h.State == fsm.StateRunning { // calls for none, unless other nodes are about to claim the run
		return !c.forget(h.RunID)
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
	c.promised.Store(true)
	if c.full.Load() || c.abstains.Load() { // since the first look, so no claim may come
		return !c.promised.Swap(false)
	}
	return true
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

// turnGap is how long a node lets the node before it claim what another process has announced. It
// exceeds the time of a claim, so that the next node usually sees that nothing is left.
const turnGap = 20 * time.Millisecond

// foundTurns is how many turns a node waits with a run that it found by itself: the node that has
// committed the run claims it, and says so within that time.
const foundTurns = 10

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
func (c *claimState) claimLater(runID string, turns int64) {
	place := c.rank.Load()
	if peers := c.peers.Load(); peers > 0 {
		sum := fnv.New32a()
		_, _ = sum.Write([]byte(runID))
		place = (place + int64(sum.Sum32())) % peers
	}
	at := MonotonicNow(c.proc.Clock).Add(min(time.Duration(place+turns)*turnGap, c.cfg.Poll))
	c.mu.Lock()
	if len(c.later) >= maxLater {
		runID = ""
	}
	claim := laterClaim{due: at, begun: c.begun.Load()}
	if earlier, ok := c.later[runID]; ok && !earlier.started {
		claim.due = earlier.due // but a claim that has begun in the meantime may not have seen this work
	}
	c.later[runID] = claim
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// claimForeign wakes the scheduler when it is this node's turn to claim what another process has
// announced, unless a claim has begun here since the announcement.
func (c *claimState) claimForeign(ctx context.Context) error {
	for {
		var tick <-chan time.Time
		release := func() {}
		if next := c.dueClaims(); next > 0 {
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

// dueClaims makes the later claims that are due, and returns the time until the next one; 0 without
// one.
func (c *claimState) dueClaims() (next time.Duration) {
	now := MonotonicNow(c.proc.Clock)
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
			select {
			case c.wakeup <- struct{}{}:
			default:
			}
			claim.started = true
			c.later[id] = claim
		default:
			delete(c.later, id)
		}
	}
	return next
}
