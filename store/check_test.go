package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// What a commit may not do is told by the cases "refusal" of storetest, on every store. Here is what only the caller of Check sees.

// queued is a record in the queue, and follow a commit on it with one event.
func queued() store.Run {
	return store.Run{
		ID: "a", Version: 1, Pool: "p", State: fsm.StateQueued, CreatedAt: noon, UpdatedAt: noon, QueuedAt: noon, Seq: 1, Recovery: store.RecoveryNone,
	}
}

func follow(r store.Run, change func(*store.Run)) store.Commit {
	expect := r.Version
	r.Version++
	r.Seq++
	change(&r)
	return store.Commit{Run: r, Expect: expect, Events: []store.Event{{Seq: r.Seq, Body: []byte("{}")}}}
}

func running(r *store.Run) {
	r.State, r.Slot, r.Owner = fsm.StateRunning, true, "n"
	r.Epoch++
	r.Attempt++
}

// Section D, D5: a slot is given by a claim alone.
func TestOnlyAClaimGivesASlot(t *testing.T) {
	prev := queued()
	c := follow(prev, running)
	require.NoError(t, c.CheckSelf(), "by itself the commit is good")
	require.ErrorIs(t, c.Check(&prev, false), store.ErrInvalid)
	require.NoError(t, c.Check(&prev, true))

	given := prev.Claim("n")
	require.Equal(t, "n", given.Owner)
	require.True(t, given.Slot)
	require.EqualValues(t, 1, given.Epoch)
	require.NoError(t, c.CheckClaim(&given, &prev))
	other := given
	other.Owner = "m"
	require.ErrorIs(t, c.CheckClaim(&other, &prev), store.ErrInvalid)
	ends := follow(prev, func(r *store.Run) {
		r.State, r.FinishedAt = fsm.StateFailed, noon
		r.Epoch++
	})
	require.NoError(t, ends.CheckClaim(&given, &prev), "a claim may find that the run must end")
}

// A store in SQL checks what it knows before it reads the stored record.
func TestCheckSelfNeedsNoRecord(t *testing.T) {
	created := store.Commit{Run: queued(), Spec: []byte("s"), Events: []store.Event{{Seq: 1, Body: []byte("{}")}}}
	require.NoError(t, created.Check(nil, false))
	c := follow(queued(), func(r *store.Run) { r.State = "paused" })
	require.ErrorIs(t, c.Check(nil, false), store.ErrInvalid)
}

// A refusal says which run, and what is wrong with it.
func TestARefusalSaysWhat(t *testing.T) {
	prev := queued()
	c := follow(prev, func(r *store.Run) { r.Pool = "other" })
	err := c.Check(&prev, false)
	require.ErrorContains(t, err, "run a: what was fixed at submission cannot be changed")
}

func TestAClaimRequestIsBounded(t *testing.T) {
	good := store.ClaimRequest{Node: "n", Max: store.MaxBatch, Start: func(store.Run, []byte) (store.Commit, error) { return store.Commit{}, nil }}
	require.NoError(t, good.Check())
	good.Max++
	require.ErrorIs(t, good.Check(), store.ErrInvalid)
}
