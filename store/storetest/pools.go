package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

var poolCases = []promised{
	{
		"pool/is listed with what it uses",
		"Pools are listed by name, with their bounds and the number of slots in use, including those of parked " +
			"sticky runs.",
		func(w *world) {
			w.pool("b/x", 3, 1)
			w.pool("a", 1, 0)
			w.running("r1", inPool("b/x"))
			w.sticking("r2", inPool("a"))
			w.waiting("r3")
			pools, err := w.store.Pools(w.ctx)
			require.NoError(w, err)
			require.Equal(w, []store.PoolUse{
				{Pool: slots.Pool{Name: "a", Capacity: 1}, Held: 1},
				{Pool: slots.Pool{Name: "b/x", Capacity: 3, KeyCapacity: 1}, Held: 1},
				{Pool: slots.Pool{Name: "p", Capacity: 100}},
			}, pools)
		},
	},
	{
		"pool/grows at once",
		"A larger capacity, of the pool or of a key, is in effect with the next claim.",
		func(w *world) {
			w.pool("p", 1, 1)
			for i := range 5 {
				w.submit(fmt.Sprintf("r%d", i), withKey("k"))
			}
			require.Len(w, w.claim("n", 9), 1)
			w.pool("p", 3, 1)
			require.Empty(w, w.claim("n", 9))
			w.pool("p", 3, 2)
			require.Len(w, w.claim("n", 9), 1)
			w.pool("p", 3, 0)
			require.Len(w, w.claim("n", 9), 1)
		},
	},
	{
		"pool/shrinks without taking a slot away",
		"A smaller capacity takes no slot from a run; runs are started again when fewer runs than the new " +
			"capacity hold a slot.",
		func(w *world) {
			w.pool("p", 3, 0)
			for i := range 5 {
				w.submit(fmt.Sprintf("r%d", i))
			}
			runs := w.claim("n", 9)
			require.Len(w, runs, 3)
			w.pool("p", 1, 0)
			require.Equal(w, map[string]int{"p": 3}, w.held())
			for _, r := range runs[:2] {
				w.commit(ended(r, w.tick(), "succeeded"))
				require.Empty(w, w.claim("n", 9))
			}
			w.commit(ended(runs[2], w.tick(), "succeeded"))
			require.Len(w, w.claim("n", 9), 1)
		},
	},
	{
		"pool/must be valid",
		"A pool that fails slots.Pool.Validate is ErrInvalid, and changes nothing.",
		func(w *world) {
			for _, p := range []slots.Pool{
				{Name: "", Capacity: 1}, {Name: "p", Capacity: 0}, {Name: "p", Capacity: 1, KeyCapacity: -1},
				{Name: "a b", Capacity: 1},
			} {
				require.ErrorIs(w, w.store.SetPool(w.ctx, p), store.ErrInvalid)
			}
			pools, err := w.store.Pools(w.ctx)
			require.NoError(w, err)
			require.Equal(w, []store.PoolUse{{Pool: slots.Pool{Name: "p", Capacity: 100}}}, pools)
		},
	},
}
