package node

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// freeing is a store in which a slot becomes free while a claim is made that leaves nothing behind.
type freeing struct {
	store.Store
	whileClaiming func()
}

func (s freeing) Claim(_ context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	if req.Suspects {
		return nil, nil
	}
	s.whileClaiming()
	*req.Drained = true
	return nil, nil
}

// TestSlotFreedDuringAClaimIsClaimedFor: A2, the claim may have been made before the slot was free,
// so an earlier claim's result does not count while the next one is made.
func TestSlotFreedDuringAClaimIsClaimedFor(t *testing.T) {
	var n *Node
	n = alone(t, freeing{newStore(t), func() { n.claims.wakeForBacklog() }}, agent{})
	defer n.die(nil)
	n.claims.drained.Store(true)
	_, err := n.claim(t.Context(), 1)
	require.NoError(t, err)
	require.Len(t, n.claims.wakeup, 1)
	require.True(t, n.claims.drained.Load(), "and then it counts")
}

// A turn keeps the memory of the whole claim only if that was a small one.
func TestARecordOfALargeClaimIsCopied(t *testing.T) {
	for size, copied := range map[int]bool{1: false, smallBatch: false, smallBatch + 1: true} {
		claimed := make([]store.Claimed, size)
		record, _ := ownRecord(claimed, 0)
		require.Equal(t, copied, record != &claimed[0].Run, size)
	}
}

func TestReserveMoreStopsAtTheLimit(t *testing.T) {
	for _, room := range []int64{0, 1, 2, 3, 7, 64, 255, 256, 1000} {
		for _, taken := range []int64{0, 1, room / 2, room - 1, room} {
			if taken < 0 || taken > room {
				continue
			}
			for _, limit := range []int{0, 1, 2, 5, 63, 127, 255} {
				n := &Node{member: member{cfg: &Config{Permits: semaphore.NewWeighted(room)}}}
				require.True(t, n.cfg.Permits.TryAcquire(taken))
				got := n.reserveMore(limit)
				require.Equal(t, min(int64(limit), room-taken), int64(got), "room for %d, %d taken, at most %d", room,
					taken, limit)
				left := room - taken - int64(got)
				require.True(t, n.cfg.Permits.TryAcquire(left), "it holds no more than it says")
				require.False(t, n.cfg.Permits.TryAcquire(1))
			}
		}
	}
}

// TestRemoveTurnKeepsOnlyAProcessStillNeededHere: the resident process of a finished turn stays
// only with a run that continues here, and is never taken from the run's next turn. A finished turn
// is remembered, unless the next one is here.
func TestRemoveTurnKeepsOnlyAProcessStillNeededHere(t *testing.T) {
	run := func(state fsm.State, profile fsm.Profile, owner string, epoch uint64) store.Run {
		return store.Run{ID: "r", CreatedAt: noon, State: state, Profile: profile, Owner: owner, Epoch: epoch}
	}
	sticky, resumable := fsm.ProfileStickyProcess, fsm.ProfileResumable
	for name, c := range map[string]struct {
		run      store.Run
		next     bool // another turn of the run executes here by now
		ended    bool // the store announces that the run has ended, before the turn is removed
		survives bool
	}{
		"it waits here":                            {run: run(fsm.StateWaitingUser, sticky, "n", 1), survives: true},
		"it was answered and is queued here":       {run: run(fsm.StateQueued, sticky, "n", 1), survives: true},
		"it waited here, and was canceled":         {run: run(fsm.StateWaitingUser, sticky, "n", 1), ended: true},
		"it was queued here, and was canceled":     {run: run(fsm.StateQueued, sticky, "n", 1), ended: true},
		"it waits elsewhere":                       {run: run(fsm.StateWaitingUser, sticky, "m", 1)},
		"it is queued elsewhere":                   {run: run(fsm.StateQueued, sticky, "m", 1)},
		"it waits, and needs no process":           {run: run(fsm.StateWaitingUser, resumable, "n", 1)},
		"it is queued, and needs no process":       {run: run(fsm.StateQueued, resumable, "", 1)},
		"it has ended":                             {run: run(fsm.StateSucceeded, sticky, "", 1)},
		"it was canceled":                          {run: run(fsm.StateCanceled, sticky, "n", 1)},
		"it is still said to execute":              {run: run(fsm.StateRunning, sticky, "n", 1)},
		"it is said to have ended":                 {run: run(fsm.StateSucceeded, sticky, "", 1)},
		"it executes in another attempt elsewhere": {run: run(fsm.StateRunning, sticky, "m", 2)},
		"its next turn executes here": {run: run(fsm.StateRunning, sticky, "n", 2), next: true,
			survives: true},
		"its next turn executes here already": {run: run(fsm.StateRunning, sticky, "n", 1), next: true,
			survives: true},
		"its next turn has ended it": {run: run(fsm.StateSucceeded, sticky, "", 2), next: true,
			survives: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				alive := map[string]bool{"r": true}
				n := alone(t, newStore(t), ending(alive))
				defer n.die(nil)
				n.addResident("r", "default")
				ended, next := newTurn(&n.member, n, &store.Run{Epoch: 1}), newTurn(&n.member, n, &store.Run{Epoch: 2})
				ended.engineReturn.signal()
				n.turns["r"] = ended
				if c.next {
					n.turns["r"] = next
				}
				if c.ended {
					n.handleHint(store.Hint{RunID: "r", State: fsm.StateCanceled})
				}
				n.removeTurn(ended, &c.run)
				n.workers.Wait()
				require.Equal(t, c.survives, alive["r"])
				require.Equal(t, c.next, n.turns["r"] != nil)
				require.Equal(t, !c.next, n.hasEnded(&store.Run{ID: "r", Epoch: 1, CreatedAt: noon}))
				require.False(t, n.hasEnded(&store.Run{ID: "r", Epoch: 1, CreatedAt: noon.Add(1)}), "another run")
			})
		})
	}
}
