package storetest

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

func (w *world) survey() store.Survey {
	w.Helper()
	s, err := w.store.Survey(w.ctx, w.now)
	require.NoError(w, err)
	return s
}

func alone(held int) []store.PoolSurvey {
	return []store.PoolSurvey{{PoolUse: store.PoolUse{Pool: slots.Pool{Name: "p", Capacity: 100}, Held: held}}}
}

var surveyCases = []promised{
	{
		"survey/of an empty store",
		"In a store without runs every count is zero and no time is set; nodes and pools are counted.",
		func(w *world) {
			require.Equal(w, store.Survey{Nodes: 1, Pools: alone(0)}, w.survey())
			w.join("m")
			w.pool("a", 2, 1)
			want := store.Survey{Nodes: 2,
				Pools: append([]store.PoolSurvey{{PoolUse: store.PoolUse{Pool: slots.Pool{Name: "a", Capacity: 2,
					KeyCapacity: 1}}}}, alone(0)...)}
			require.Equal(w, want, w.survey(), "pools are listed by name")
			w.expire("m")
			want.Nodes = 1
			require.Equal(w, want, w.survey(), "a node whose lease was taken is counted no more")
		},
	},
	{
		"survey/sees the writes of others",
		"A survey counts what was stored through any handle.",
		func(w *world) {
			other := w.also()
			w.submit("a")
			w.waiting("b", withPriority(1))
			s, err := other.Survey(w.ctx, w.now)
			require.NoError(w, err)
			require.Equal(w, w.survey(), s)
			require.Equal(w, []int{1, 1}, []int{s.Queued, s.Waiting})
		},
	},
	{
		"survey/is of one moment",
		"During commits, every run counts once: none is missed or counted twice because it changes its state " +
			"(I10).",
		func(w *world) {
			const rounds = 40
			ids := []string{"a", "b", "c"}
			for _, id := range ids {
				w.submit(id)
			}
			now := w.now
			var over atomic.Bool
			var looks atomic.Int32
			w.race(4, func(ctx context.Context, i int, s store.Store) error {
				if i == 0 {
					defer over.Store(true)
					for range rounds {
						if err := w.round(ctx, s); err != nil {
							return err
						}
					}
					return nil
				}
				for !over.Load() {
					got, err := s.Survey(ctx, now)
					if err != nil {
						return err
					}
					pool := got.Pools[0]
					if got.Queued+got.Running+got.Waiting != len(ids) || got.Ready != got.Queued ||
						pool.Ready != got.Ready || pool.Held != got.Running {
						return fmt.Errorf("%d runs are counted as %+v", len(ids), got)
					}
					looks.Add(1)
				}
				return nil
			})
			require.NotZero(w, looks.Load())
		},
	},
	{
		"survey/ends with its context",
		"A survey whose context has ended returns the context's error.",
		func(w *world) {
			ctx, cancel := context.WithCancel(w.ctx)
			cancel()
			_, err := w.store.Survey(ctx, w.now)
			require.ErrorIs(w, err, context.Canceled)
		},
	},
}
