package storetest

import (
	"fmt"
	"math"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
)

var queueCases = []promised{
	{
		"queue/priority first",
		"Higher priorities are started first, whatever the age and the key.",
		func(w *world) {
			w.submit("low", withPriority(-3))
			w.submit("normal")
			w.submit("high", withPriority(2), withKey("z"))
			w.submit("higher", withPriority(math.MaxInt32), withKey("a"))
			require.Equal(w, []string{"higher", "high", "normal", "low"}, append(w.claimed("n", 3),
				w.claimed("n", 3)...))
		},
	},
	{
		"queue/then the oldest",
		"Within a priority and a key the run that was queued first is started first; the id decides between equals.",
		func(w *world) {
			now := w.tick()
			for _, id := range []string{"c", "a", "b"} {
				w.commit(Created(id, now))
			}
			w.submit("0")
			require.Equal(w, []string{"a", "b", "c", "0"}, w.claimed("n", 9))
		},
	},
	{
		"queue/a run that comes back is the youngest",
		"A run's age in the queue counts from when it was last queued, not from its creation.",
		func(w *world) {
			first := w.waiting("first")
			w.submit("second")
			w.commit(Answered(first, w.tick(), ""))
			require.Equal(w, []string{"second", "first"}, w.claimed("n", 9))
		},
	},
	{
		"queue/keys take turns",
		"With several keys waiting at one priority, each is served once before any is served twice, in one claim and " +
			"over several.",
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
		"With several pools that have ready runs, a node with room for one run serves each of them once before any " +
			"is served twice: none waits until another is empty.",
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
		"queue/capacity of a pool",
		"At most as many runs of a pool hold a slot as its capacity allows; a slot that becomes free can be used " +
			"at once (D1, D5).",
		func(w *world) {
			w.pool("p", 2, 0)
			for _, id := range []string{"a", "b", "c", "d"} {
				w.submit(id)
			}
			runs := w.claim("n", 10)
			require.Equal(w, []string{"a", "b"}, ids(runs))
			require.Empty(w, w.claim("n", 10))
			w.commit(Asked(runs[0], w.tick(), false, w.now))
			require.Equal(w, []string{"c"}, w.claimed("n", 10), "a resumable run gives its slot up while it waits")
			w.commit(ended(runs[1], w.tick(), "failed"))
			require.Equal(w, []string{"d"}, w.claimed("n", 10))
			require.Equal(w, map[string]int{"p": 2}, w.held())
		},
	},
	{
		"queue/capacity of a key",
		"At most as many runs of a key hold a slot as the pool's key capacity allows; other keys go on, and runs " +
			"without a key have no such bound.",
		func(w *world) {
			w.pool("p", 10, 2)
			for i := range 4 {
				w.submit(fmt.Sprintf("a%d", i), withKey("a"))
			}
			for i := range 4 {
				w.submit(fmt.Sprintf("none%d", i))
			}
			w.submit("b0", withKey("b"))
			runs := w.claim("n", 20)
			require.ElementsMatch(w, []string{"a0", "a1", "b0", "none0", "none1", "none2", "none3"}, ids(runs))
			require.Empty(w, w.claim("n", 20))
			w.commit(ended(w.load("a0"), w.tick(), "succeeded"))
			require.Equal(w, []string{"a2"}, w.claimed("n", 20))
		},
	},
	{
		"queue/a key of one pool is no key of another",
		"Slots are counted by pool and key together.",
		func(w *world) {
			w.pool("p", 10, 1)
			w.pool("q", 10, 1)
			w.submit("p1", withKey("k"))
			w.submit("q1", withKey("k"), inPool("q"))
			w.submit("p2", withKey("k"))
			require.ElementsMatch(w, []string{"p1", "q1"}, w.claimed("n", 20))
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
	{
		"queue/pools are independent",
		"A pool without a free slot delays no other pool.",
		func(w *world) {
			w.pool("full", 1, 0)
			w.pool("free", 5, 0)
			for i := range 3 {
				w.submit(fmt.Sprintf("full-%d", i), inPool("full"), withPriority(9))
				w.submit(fmt.Sprintf("free-%d", i), inPool("free"))
			}
			require.ElementsMatch(w, []string{"full-0", "free-0", "free-1", "free-2"}, w.claimed("n", 20))
		},
	},
	{
		"queue/no pool is always last",
		"When every claim can start one run only, and all pools have work, each pool gets its turn.",
		func(w *world) {
			for _, pool := range []string{"a", "b", "c"} {
				w.pool(pool, 50, 0)
				for i := range 10 {
					w.submit(fmt.Sprintf("%s-%d", pool, i), inPool(pool))
				}
			}
			served := map[string]int{}
			for range 9 {
				for _, r := range w.claim("n", 1) {
					served[r.Pool]++
				}
			}
			for _, pool := range []string{"a", "b", "c"} {
				require.NotZero(w, served[pool], "pool %s", pool)
			}
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
