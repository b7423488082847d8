package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// orphans returns the ids of up to limit orphans.
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
		"orphan/is a run whose owner is gone",
		"Runs that hold a slot and whose owner is not registered are orphans: running and sticky ones (E3, E4). " +
			"No other runs are: a parked run needs no recovery (J7).",
		func(w *world) {
			w.running("busy")
			w.waiting("parked")
			w.sticking("sticky")
			w.finished("over")
			ready, queued := w.sticking("ready"), w.waiting("queued")
			w.commit(Answered(ready, w.tick(), ""))
			w.commit(Answered(queued, w.tick(), ""))
			w.join("other")
			require.Empty(w, w.orphans(9), "the owner lives")
			w.expire("n")
			require.ElementsMatch(w, []string{"busy", "sticky", "ready"}, w.orphans(9))
		},
	},
	{
		"orphan/they are listed in parts",
		"Orphans skips as many runs as it is asked to, and returns at most limit; the order stays the same while " +
			"nothing changes.",
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
		"orphan/ends with its settlement",
		"A run that recovery has settled is not an orphan any more; settling all that Orphans returns comes to an " +
			"end after finitely many calls (E6).",
		func(w *world) {
			for i := range 10 {
				w.running(fmt.Sprintf("r%d", i))
			}
			w.expire("n")
			w.join("next")
			for rounds := 0; ; rounds++ {
				require.Less(w, rounds, 10)
				runs, err := w.store.Orphans(w.ctx, 0, 3)
				require.NoError(w, err)
				if len(runs) == 0 {
					break
				}
				for i, r := range runs {
					switch i {
					case 0:
						w.commit(queuedAgain(r, w.tick()))
					case 1:
						w.commit(ended(r, w.tick(), fsm.StateFailed))
					default:
						w.commit(Asked(r, w.tick(), false, w.now))
					}
				}
			}
			require.Empty(w, w.orphans(9))
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
