package storetest

import (
	"errors"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

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
				require.ErrorIs(w, w.store.ChangePool(w.ctx, slots.Pool{}, p), store.ErrInvalid)
			}
			pools, err := w.store.Pools(w.ctx)
			require.NoError(w, err)
			require.Equal(w, []store.PoolUse{{Pool: slots.Pool{Name: "p", Capacity: 100}}}, pools)
		},
	},
	{
		"pool/change/only from the expected size",
		"ChangePool changes a pool that equals was, or creates a missing pool if was is zero. Otherwise it " +
			"is ErrConflict, and changes nothing. Of concurrent changes one wins.",
		func(w *world) {
			p, q := slots.Pool{Name: "p", Capacity: 100}, slots.Pool{Name: "q", Capacity: 2, KeyCapacity: 1}
			changed := slots.Pool{Name: "p", Capacity: 7, KeyCapacity: 2}
			require.ErrorIs(w, w.store.ChangePool(w.ctx, q, q), store.ErrConflict, "no such pool")
			require.NoError(w, w.store.ChangePool(w.ctx, slots.Pool{}, q))
			require.ErrorIs(w, w.store.ChangePool(w.ctx, slots.Pool{}, q), store.ErrConflict, "exists")
			require.ErrorIs(w, w.store.ChangePool(w.ctx, q, p), store.ErrConflict, "another pool")
			require.NoError(w, w.store.ChangePool(w.ctx, p, p), "unchanged")
			require.NoError(w, w.store.ChangePool(w.ctx, p, changed))
			for _, was := range []slots.Pool{
				p, {}, {Name: "p", Capacity: 7}, {Name: "p", Capacity: 6, KeyCapacity: 2},
			} {
				require.ErrorIs(w, w.store.ChangePool(w.ctx, was, p), store.ErrConflict)
			}
			var together errgroup.Group
			won := make(chan int, 8)
			for i := range 8 {
				together.Go(func() error {
					err := w.store.ChangePool(w.ctx, changed, slots.Pool{Name: "p", Capacity: 20 + i})
					if err == nil {
						won <- 20 + i
					} else if errors.Is(err, store.ErrConflict) {
						err = nil
					}
					return err
				})
			}
			require.NoError(w, together.Wait())
			require.Len(w, won, 1)
			pools, err := w.store.Pools(w.ctx)
			require.NoError(w, err)
			require.Equal(w, []store.PoolUse{{Pool: slots.Pool{Name: "p", Capacity: <-won}}, {Pool: q}}, pools)
		},
	},
}
