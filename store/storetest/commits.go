package storetest

import (
	"context"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

var commitCases = []promised{
	{
		"commit/an unknown run is not found",
		"Every call about an unknown run returns ErrNotFound and creates nothing, as does a commit that follows up " +
			"on it (C4, I13).",
		func(w *world) {
			_, err := w.store.Run(w.ctx, "x")
			require.ErrorIs(w, err, store.ErrNotFound)
			_, err = w.store.Spec(w.ctx, "x")
			require.ErrorIs(w, err, store.ErrNotFound)
			_, err = w.store.Events(w.ctx, "x", 0, 10)
			require.ErrorIs(w, err, store.ErrNotFound)
			_, _, err = store.ReadHistory(w.ctx, w.store, "x")
			require.ErrorIs(w, err, store.ErrNotFound)
			_, err = w.store.Settled(w.ctx, "x", "k")
			require.ErrorIs(w, err, store.ErrNotFound)
			w.refused(store.ErrNotFound, ended(Created("x", w.now).Run, w.tick(), fsm.StateCanceled))
		},
	},
	{
		"commit/compares the version",
		"A commit based on another version than the stored one, older or newer, is ErrConflict and changes nothing " +
			"(C8).",
		func(w *world) {
			r := w.running("a")
			old := reported(r, w.tick())
			r = w.commit(reported(r, w.tick()))
			w.refused(store.ErrConflict, old)
			ahead := r
			ahead.Version += 3
			w.refused(store.ErrConflict, reported(ahead, w.tick()))
			w.commit(reported(r, w.tick()))
		},
	},
	{
		"commit/refuses a commit that is stored already",
		"Storing a commit a second time is ErrConflict: a caller that does not know whether its commit was stored " +
			"can repeat it safely.",
		func(w *world) {
			c := reported(w.running("a"), w.tick())
			w.commit(c)
			w.refused(store.ErrConflict, c)
		},
	},
	{
		"commit/stores or refuses each entry separately",
		"In a batch each entry succeeds or fails separately, the errors are in the batch's order, and a later " +
			"entry may follow up on an earlier one.",
		func(w *world) {
			a := Created("a", w.tick())
			b := Created("b", w.now)
			canceled := ended(a.Run, w.now, fsm.StateCanceled)
			broken := Created("c", w.now)
			broken.Spec = nil
			errs := w.store.Commit(w.ctx, []store.Commit{
				a,
				Created("a", w.now),                    // the entry before has created it
				broken,                                 // a commit that contradicts itself
				canceled,                               // a follow-up on the first entry
				ended(a.Run, w.now, fsm.StateCanceled), // conflicts with the entry before
				Created("d", w.now, inPool("nowhere")), // the pool does not exist
				ended(broken.Run, w.now, fsm.StateCanceled), // its creation was refused
				b,
			})
			for i, want := range []error{
				nil, store.ErrExists, store.ErrInvalid, nil, store.ErrConflict, store.ErrUnknownPool, store.ErrNotFound,
				nil,
			} {
				if want == nil {
					require.NoError(w, errs[i], "entry %d", i)
				} else {
					require.ErrorIs(w, errs[i], want, "entry %d", i)
				}
			}
			require.Len(w, errs, 8)
			require.Equal(w, text(w, canceled.Run), w.snapshot("a").Run)
			require.Equal(w, text(w, b.Run), w.snapshot("b").Run)
			require.True(w, w.snapshot("c").Missing)
			require.True(w, w.snapshot("d").Missing)
		},
	},
	{
		"commit/an empty batch",
		"A batch without entries is no error and does nothing.",
		func(w *world) { require.Empty(w, w.store.Commit(w.ctx, nil)) },
	},
	{
		"commit/a large batch",
		"A batch may have store.MaxBatch entries.",
		func(w *world) {
			batch := make([]store.Commit, store.MaxBatch)
			for i := range batch {
				batch[i] = Created(fmt.Sprintf("r%04d", i), w.now)
			}
			errs := w.store.Commit(w.ctx, batch)
			require.Len(w, errs, len(batch))
			for _, err := range errs {
				require.NoError(w, err)
			}
			page, err := w.store.Runs(w.ctx, store.Query{Limit: store.MaxBatch})
			require.NoError(w, err)
			require.Len(w, page.Runs, len(batch))
		},
	},
	{
		"commit/a canceled context",
		"With a context that has ended, a commit returns the context's error for each entry, and is stored whole " +
			"or not at all.",
		func(w *world) {
			ctx, cancel := context.WithCancel(w.ctx)
			cancel()
			c := Created("a", w.tick())
			errs := w.store.Commit(ctx, []store.Commit{c, Created("b", w.now)})
			require.Len(w, errs, 2)
			for _, err := range errs {
				require.ErrorIs(w, err, context.Canceled)
			}
			if got := w.snapshot("a"); !got.Missing {
				require.Equal(w, runSnapshot{Run: text(w, c.Run), Spec: string(c.Spec), Events: c.Events}, got)
			}
			_, err := w.store.Run(ctx, "a")
			require.ErrorIs(w, err, context.Canceled)
			_, err = w.store.Claim(ctx, store.ClaimRequest{Node: "n", Now: w.now, Max: 1, Start: Started(w.now)})
			require.ErrorIs(w, err, context.Canceled)
		},
	},
}
