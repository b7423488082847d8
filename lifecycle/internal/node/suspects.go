package node

import (
	"context"
	"errors"
	"time"

	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// quarantine keeps suspects (store.Run.Suspect) apart from other turns, which a crash of the process
// would lose, too. A node claims a suspect only when no turn executes there, and nothing else until
// that turn has ended or outlived a lease. Other runs come first. For a suspect that waits too long,
// a node makes itself idle, at most half of its time: it claims nothing until its turns have ended.
//
// Only the scheduler uses it. Its times are readings of the monotonic clock.
type quarantine struct {
	separate      store.OwnedRun // the suspect that executes without other turns; empty: none
	separateUntil time.Time

	scansNext  bool      // the next claim, not this one, asks for suspects: others can get permits in between
	scanned    bool      // the last claim asked only for suspects
	filledRoom bool      // the claim before scansNext filled all room
	nextScan   time.Time // when a node that executes turns asks for suspects again

	idlingSince    time.Time // zero: the node does not make itself idle
	noIdlingBefore time.Time
}

// errSeparate keeps suspects queued while other turns execute.
var errSeparate = errors.New("lifecycle: a suspect is executed without other turns")

// claim claims ready runs or a suspect, as the quarantine allows.
func (n *Node) claim(ctx context.Context, room int) ([]store.Claimed, error) {
	if ctx.Err() != nil || n.live.Err() != nil {
		return nil, nil
	}
	n.claims.drained.Store(false) // capacity freed while nothing is claimed must cause another claim
	q, now := &n.quarantine, MonotonicNow(n.proc.Clock)
	q.scanned = false
	idle := n.isIdle()
	if n.executesSuspect(now) || !idle && n.waitsUntilIdle(now) {
		n.claims.abstains.Store(true)
		return nil, nil
	}
	if !q.idlingSince.IsZero() { // and the node is idle now, or another node has claimed the suspect
		n.stopIdling(now)
		for try := 0; idle && try < 2; try++ { // the store may first return suspects that suspectIsOverdue did not see
			if claimed, err := n.claimSuspect(now); err != nil || len(claimed) > 0 {
				return claimed, err
			}
		}
	}
	n.claims.abstains.Store(false)
	if q.scansNext {
		q.scansNext = false
		claimed, err := n.scan(idle, now)
		if err != nil || len(claimed) > 0 || !q.filledRoom || !q.idlingSince.IsZero() {
			q.scanned = err == nil
			return claimed, err
		}
	}
	claimed, noSuspects, err := n.claimReady(room)
	if noSuspects {
		q.nextScan = n.scanTime(now)
	}
	if idle && len(claimed) == 0 {
		q.scansNext = n.suspectsDue.Swap(false) && !noSuspects
	} else {
		q.scansNext = now.After(q.nextScan) && now.After(q.noIdlingBefore)
	}
	q.filledRoom = len(claimed) == room
	return claimed, err
}

// scan claims a suspect if the node is idle. Otherwise it decides whether the node must become
// idle.
func (n *Node) scan(idle bool, now time.Time) ([]store.Claimed, error) {
	if idle {
		return n.claimSuspect(now)
	}
	if n.suspectIsOverdue(now) {
		n.proc.Log.Info("claiming nothing until the turns here have ended, for a run that has lost its workers")
		n.quarantine.idlingSince = now
	}
	return nil, nil
}

func (n *Node) isIdle() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.turns) == 0
}

// waitsUntilIdle reports whether the node makes itself idle for a suspect that is still queued.
func (n *Node) waitsUntilIdle(now time.Time) bool {
	q := &n.quarantine
	return !q.idlingSince.IsZero() && (now.Before(q.nextScan) || n.suspectIsOverdue(now))
}

// executesSuspect reports whether a suspect executes here that has not outlived a lease.
func (n *Node) executesSuspect(now time.Time) bool {
	q := &n.quarantine
	if q.separate.RunID == "" {
		return false
	}
	n.mu.Lock()
	t := n.turns[q.separate.RunID]
	n.mu.Unlock()
	if t != nil && t.epoch == q.separate.Epoch && now.Before(q.separateUntil) {
		return true
	}
	q.separate = store.OwnedRun{}
	return false
}

func (n *Node) stopIdling(now time.Time) {
	q := &n.quarantine
	q.noIdlingBefore = now.Add(max(n.cfg.Lease, now.Sub(q.idlingSince)))
	q.idlingSince = time.Time{}
}

func (n *Node) claimSuspect(now time.Time) ([]store.Claimed, error) {
	starts := decide.Starts{Now: n.proc.Now()}
	req := store.ClaimRequest{
		Node: n.id, Now: starts.Now, Max: 1, Engines: n.cfg.Engines, Suspects: true, Start: starts.Start,
	}
	claimed, err := n.proc.Store.Claim(n.live, req)
	if len(claimed) > 0 {
		r := &claimed[0].Run
		n.quarantine.separate = store.OwnedRun{RunID: r.ID, Epoch: r.Epoch}
		n.quarantine.separateUntil = now.Add(n.cfg.Lease)
	}
	return claimed, err
}

// scanTime returns when a node that executes turns asks for suspects again.
func (n *Node) scanTime(now time.Time) time.Time {
	return now.Add(max(n.cfg.Poll, n.cfg.Lease/3))
}

// suspectIsOverdue reports whether this node must make itself idle for a waiting suspect. The
// oldest node does so after a lease, each younger node after eight times the wait of the next
// older one, so that usually only one node does.
func (n *Node) suspectIsOverdue(now time.Time) (overdue bool) {
	n.quarantine.nextScan = n.scanTime(now)
	patience := n.cfg.Lease << (3 * min(n.claims.rank.Load(), 3))
	commitNow := n.proc.Now()
	_, err := n.proc.Store.Claim(n.live, store.ClaimRequest{
		Node: n.id, Now: commitNow, Max: ClaimBatch, Engines: n.cfg.Engines, Suspects: true,
		Start: func(r store.Run, _ []byte) (store.Commit, error) {
			overdue = overdue || commitNow.Sub(r.NotBefore) > patience
			return store.Commit{}, errSeparate
		},
	})
	if err != nil && !errors.Is(err, errSeparate) {
		n.proc.Log.Warn("cannot look for runs that have lost their workers", "err", err)
		return false
	}
	return overdue
}
