package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

var handleCases = []promised{
	{
		"handles/see each other's writes",
		"What a call on one handle has acknowledged, every later call on any other handle sees.",
		func(w *world) {
			other := w.also()
			r := w.submit("a")
			require.Equal(w, w.snapshot("a"), readSnapshot(w.ctx, w, other, "a"))
			now := w.tick()
			claimed, err := other.Claim(w.ctx, store.ClaimRequest{Node: "n", Now: now, Max: 1, Start: Started(now)})
			require.NoError(w, err)
			require.Len(w, claimed, 1)
			require.Equal(w, readSnapshot(w.ctx, w, other, "a"), w.snapshot("a"))
			w.refused(store.ErrConflict, ended(r, now, fsm.StateCanceled))
			r = w.commit(ended(claimed[0].Run, now, fsm.StateFailed))
			n, err := other.Prune(w.ctx, r.FinishedAt.Add(time.Second), 9)
			require.NoError(w, err)
			require.Equal(w, 1, n)
			require.True(w, w.snapshot("a").Missing)
		},
	},
	{
		"handles/share nodes and fences",
		"A node that joined through one handle may claim through another; expired through one handle, it is fenced " +
			"off on all (I2).",
		func(w *world) {
			other := w.also()
			require.NoError(w, other.Join(w.ctx, store.Node{ID: "m", Lease: lease}, w.now))
			w.submit("a")
			r := w.start("m")
			holds, err := other.Renew(w.ctx, "m", w.now)
			require.NoError(w, err)
			require.Equal(w, []store.OwnedRun{{RunID: "a", Epoch: r.Epoch, State: fsm.StateRunning}}, holds)
			_, err = other.Expire(w.ctx, base, "m")
			require.NoError(w, err)
			w.refused(store.ErrStaleEpoch, fenced(reported(r, w.tick()), "m", r.Epoch))
			require.Equal(w, []string{"a"}, w.orphans(9))
		},
	},
	{
		"handles/share pools and slots",
		"Capacity counts over all handles; a change of a pool through one handle applies to the next claim through " +
			"any other.",
		func(w *world) {
			other := w.also()
			require.NoError(w, other.SetPool(w.ctx, slots.Pool{Name: "p", Capacity: 1}))
			for _, id := range []string{"a", "b", "c"} {
				w.submit(id)
			}
			require.Equal(w, []string{"a"}, w.claimed("n", 9))
			claimed, err := other.Claim(w.ctx, store.ClaimRequest{Node: "n", Now: w.now, Max: 9, Start: Started(w.now)})
			require.NoError(w, err)
			require.Empty(w, claimed)
			w.pool("p", 2, 0)
			claimed, err = other.Claim(w.ctx, store.ClaimRequest{Node: "n", Now: w.now, Max: 9, Start: Started(w.now)})
			require.NoError(w, err)
			require.Len(w, claimed, 1)
			require.Equal(w, map[string]int{"p": 2}, w.held())
		},
	},
}
