package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
)

var queueCases = []promised{
	{
		"queue/then the oldest",
		"Within a priority and a key the run that was queued first is started first; the id decides between equals.",
		func(w *world) {
			now := w.tick()
			for _, id := range []string{"c", "a", "b"} {
				w.commit(Created(id, now))
			}
			for _, id := range []string{"0", "1", "2"} {
				w.submit(id)
			}
			var started []string
			for range 6 {
				started = append(started, w.claimed("n", 1)...)
			}
			require.Equal(w, []string{"a", "b", "c", "0", "1", "2"}, started)
		},
	},
	{
		"queue/keys take turns",
		"Each key that waits at a priority is served once before any is served twice, in one claim and over " +
			"several.",
		func(w *world) {
			for i := range 50 {
				w.submit(fmt.Sprintf("big-%02d", i), withKey("big"))
			}
			for i := range 2 {
				w.submit(fmt.Sprintf("x-%d", i), withKey("x"))
				w.submit(fmt.Sprintf("y-%d", i), withKey("y"))
				w.submit(fmt.Sprintf("none-%d", i))
			}
			require.ElementsMatch(w, []string{"big", "x", "y", ""}, keys(w.claim("n", 4)))
			var served []string
			for range 4 {
				served = append(served, keys(w.claim("n", 1))...)
			}
			require.ElementsMatch(w, []string{"big", "x", "y", ""}, served)
			require.Equal(w, []string{"big", "big", "big"}, keys(w.claim("n", 3)),
				"nothing is held back when only one key waits")
		},
	},
	{
		"queue/pools take turns",
		"A node with room for one run serves each pool with ready runs once before any is served twice: no pool " +
			"waits until another is empty.",
		func(w *world) {
			all := []string{"p", "z", "a"} // in the order of creation, not of their names
			for _, pool := range all[1:] {
				w.pool(pool, 9, 0)
			}
			for i := range 4 * len(all) {
				w.submit(fmt.Sprintf("r%02d", i), inPool(all[i%len(all)]))
			}
			for range 3 {
				var served []string
				for range all {
					served = append(served, w.start("n").Pool)
				}
				require.ElementsMatch(w, all, served)
			}
		},
	},
	{
		"queue/a full key delays no other key",
		"Runs of a key that has reached its capacity are skipped, however many there are and whatever their " +
			"priority (I13).",
		func(w *world) {
			w.pool("p", 10, 1)
			for i := range 100 {
				w.submit(fmt.Sprintf("full-%02d", i), withKey("full"), withPriority(5))
			}
			w.submit("other", withKey("other"))
			require.Equal(w, []string{"full-00", "other"}, w.claimed("n", 9))
		},
	},
}

func keys(runs []store.Run) []string {
	all := make([]string, len(runs))
	for i := range runs {
		all[i] = runs[i].Key
	}
	return all
}

// held returns the number of slots in use, for each pool that has any in use.
func (w *world) held() map[string]int {
	w.Helper()
	pools, err := w.store.Pools(w.ctx)
	require.NoError(w, err)
	held := map[string]int{}
	for _, p := range pools {
		if p.Held != 0 {
			held[p.Name] = p.Held
		}
	}
	return held
}
