package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
)

func (w *world) orphans(limit int) []string {
	w.Helper()
	runs, err := w.store.Orphans(w.ctx, 0, limit)
	require.NoError(w, err)
	for _, r := range runs {
		require.Equal(w, text(w, w.load(r.ID)), text(w, r))
	}
	return ids(runs)
}

var orphanCases = []promised{
	{
		"orphan/are listed in parts",
		"Orphans skips the given number of runs, and returns at most limit; without changes the order stays the " +
			"same.",
		func(w *world) {
			w.pool("p", 99, 0)
			w.join("a", "z")
			for i, node := range []string{"n", "a", "z"} {
				for j := range 4 {
					w.submit(fmt.Sprintf("%d%d", i, j))
					if r := w.start(node); j == 0 {
						w.commit(Asked(r, w.tick(), false, w.now))
					}
				}
			}
			for _, node := range []string{"n", "a", "z"} {
				w.expire(node)
			}
			require.Empty(w, w.nodes())
			all, err := w.store.Orphans(w.ctx, 0, 99)
			require.NoError(w, err)
			require.Len(w, all, 9)
			few, err := w.store.Orphans(w.ctx, 0, 5)
			require.NoError(w, err)
			require.Len(w, few, 5)
			for _, r := range few {
				require.True(w, r.Slot)
			}
			for skip := range len(all) + 2 {
				behind, err := w.store.Orphans(w.ctx, skip, 4)
				require.NoError(w, err)
				want := all[min(skip, len(all)):]
				require.Len(w, behind, min(4, len(want)))
				for i := range behind {
					require.Equal(w, want[i].ID, behind[i].ID, "those behind the first %d", skip)
				}
			}
		},
	},
	{
		"orphan/a limit must be positive",
		"A limit below 1 and a skip below 0 are ErrInvalid.",
		func(w *world) {
			_, err := w.store.Orphans(w.ctx, 0, 0)
			require.ErrorIs(w, err, store.ErrInvalid)
			_, err = w.store.Orphans(w.ctx, -1, 1)
			require.ErrorIs(w, err, store.ErrInvalid)
		},
	},
}
