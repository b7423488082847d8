package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

var poolCases = []promised{
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
