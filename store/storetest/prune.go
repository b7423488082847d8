package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

func (w *world) prune(before time.Time, limit int) int {
	w.Helper()
	n, err := w.store.Prune(w.ctx, before, limit)
	require.NoError(w, err)
	return n
}

var pruneCases = []promised{
	{
		"prune/at most limit, the oldest first",
		"Prune deletes at most limit runs, those that finished first, and returns how many it deleted.",
		func(w *world) {
			var runs []store.Run
			for i := range 5 {
				runs = append(runs, w.submit(fmt.Sprintf("r%d", i)))
			}
			for _, i := range []int{3, 0, 4, 1, 2} {
				w.commit(ended(runs[i], w.tick(), fsm.StateCanceled))
			}
			require.Equal(w, 2, w.prune(w.tick(), 2))
			require.Equal(w, []string{"r1", "r2", "r4"}, w.list(store.Query{}))
			require.Equal(w, 3, w.prune(w.now, 100))
			require.Zero(w, w.prune(w.now, 100))
		},
	},
	{
		"prune/with all that belongs to it",
		"Nothing is left of a deleted run: no record, specification, events, history or keys; another run under " +
			"its id starts from nothing.",
		func(w *world) {
			w.commit(Answered(w.waiting("a"), w.tick(), "k"))
			w.commit(ended(w.start("n"), w.tick(), fsm.StateSucceeded))
			require.Equal(w, 1, w.prune(w.now.Add(time.Second), 9))
			require.True(w, w.snapshot("a").Missing)
			_, err := w.store.Spec(w.ctx, "a")
			require.ErrorIs(w, err, store.ErrNotFound)
			_, err = w.store.Events(w.ctx, "a", 0, 9)
			require.ErrorIs(w, err, store.ErrNotFound)
			_, _, err = store.ReadHistory(w.ctx, w.store, "a")
			require.ErrorIs(w, err, store.ErrNotFound)
			_, err = w.store.Settled(w.ctx, "a", "k")
			require.ErrorIs(w, err, store.ErrNotFound)
			require.Empty(w, w.list(store.Query{}))

			w.commit(Answered(w.waiting("a"), w.tick(), "k"))
			require.Len(w, w.snapshot("a").History, 1)
		},
	},
	{
		"prune/a limit must be positive",
		"A limit below 1 is ErrInvalid.",
		func(w *world) {
			_, err := w.store.Prune(w.ctx, w.now, 0)
			require.ErrorIs(w, err, store.ErrInvalid)
		},
	},
}
