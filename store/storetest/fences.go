package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

func fenced(c store.Commit, node string, epoch uint64) store.Commit {
	c.Fence = &store.Fence{Node: node, Epoch: epoch}
	return c
}

var fenceCases = []promised{
	{
		"fence/an expired node cannot write",
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
}
