package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// fenced returns the commit with a worker's fence.
func fenced(c store.Commit, node string, epoch uint64) store.Commit {
	c.Fence = &store.Fence{Node: node, Epoch: epoch}
	return c
}

var fenceCases = []promised{
	{
		"fence/the worker of the run may write",
		"A commit with the fence of the run's current worker is stored.",
		func(w *world) {
			r := w.running("a")
			r = w.commit(fenced(reported(r, w.tick()), "n", r.Epoch))
			w.commit(fenced(ended(r, w.tick(), fsm.StateSucceeded), "n", r.Epoch))
		},
	},
	{
		"fence/others may not",
		"A fence with another node or another epoch than the run's is ErrStaleEpoch, and nothing is written (I2).",
		func(w *world) {
			w.join("other")
			r := w.running("a")
			w.refused(store.ErrStaleEpoch, fenced(reported(r, w.tick()), "other", r.Epoch))
			w.refused(store.ErrStaleEpoch, fenced(reported(r, w.tick()), "n", r.Epoch+1))
			w.refused(store.ErrStaleEpoch, fenced(reported(r, w.tick()), "n", r.Epoch-1))
			w.refused(store.ErrStaleEpoch, fenced(reported(r, w.tick()), "", r.Epoch))
		},
	},
	{
		"fence/comes before the version",
		"A stale worker gets ErrStaleEpoch even if its version is old too: it must stop, not retry.",
		func(w *world) {
			r := w.running("a")
			old := fenced(reported(r, w.tick()), "n", r.Epoch-1)
			w.commit(reported(r, w.tick()))
			w.refused(store.ErrStaleEpoch, old)
		},
	},
	{
		"fence/an expired node writes nothing any more",
		"Once a node is expired, each of its writes is ErrStaleEpoch, even for runs that no other node has taken " +
			"over yet (E4).",
		func(w *world) {
			r := w.running("a")
			w.submit("b")
			w.expire("n")
			w.refused(store.ErrStaleEpoch, fenced(reported(r, w.tick()), "n", r.Epoch))
			_, err := w.store.Claim(w.ctx, store.ClaimRequest{Node: "n", Now: w.now, Max: 1, Start: Started(w.now)})
			require.ErrorIs(w, err, store.ErrStaleEpoch)
			require.Equal(w, fsm.StateQueued, w.load("b").State)
			_, err = w.store.Renew(w.ctx, "n", w.now)
			require.ErrorIs(w, err, store.ErrStaleEpoch)
		},
	},
	{
		"fence/a run that was taken over belongs to its new worker",
		"After recovery and a new claim the epoch is higher; the first worker is refused, the second is not (I2, E4).",
		func(w *world) {
			w.join("second")
			r := w.running("a")
			w.expire("n")
			w.commit(queuedAgain(r, w.tick()))
			again := w.claim("second", 1)
			require.Equal(w, []string{"a"}, ids(again))
			require.Greater(w, again[0].Epoch, r.Epoch)
			w.refused(store.ErrStaleEpoch, fenced(ended(r, w.tick(), fsm.StateSucceeded), "n", r.Epoch))
			w.commit(fenced(ended(again[0], w.tick(), fsm.StateSucceeded), "second", again[0].Epoch))
		},
	},
	{
		"fence/ends with the turn",
		"The fence of a worker whose run was parked, canceled or queued again is not valid: a late result changes " +
			"nothing (I6).",
		func(w *world) {
			r := w.running("a")
			w.commit(ended(r, w.tick(), fsm.StateCanceled))
			w.refused(store.ErrStaleEpoch, fenced(ended(r, w.tick(), fsm.StateSucceeded), "n", r.Epoch))
			r = w.running("b")
			w.commit(queuedAgain(r, w.tick()))
			w.refused(store.ErrStaleEpoch, fenced(reported(r, w.tick()), "n", r.Epoch))
		},
	},
	{
		"fence/each claim gives a new epoch",
		"Every claim of a run raises its epoch, even by the same node; no other commit changes it.",
		func(w *world) {
			r := w.running("a")
			for range 3 {
				epoch := r.Epoch
				w.commit(queuedAgain(r, w.tick()))
				require.Equal(w, epoch, w.load("a").Epoch)
				r = w.start("n")
				require.Equal(w, epoch+1, r.Epoch)
			}
		},
	},
}
