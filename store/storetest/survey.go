package storetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// survey returns the store's survey at the story's time.
func (w *world) survey() store.Survey {
	w.Helper()
	s, err := w.store.Survey(w.ctx, w.now)
	require.NoError(w, err)
	return s
}

// alone is the survey of the pool "p" without ready runs.
func alone(held int) []store.PoolSurvey {
	return []store.PoolSurvey{{PoolUse: store.PoolUse{Pool: slots.Pool{Name: "p", Capacity: 100}, Held: held}}}
}

var surveyCases = []promised{
	{
		"survey/of an empty store",
		"In a store without runs every count is zero and no time is set; nodes and pools are counted all the " +
			"same.",
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
		"survey/a run is counted where it stands",
		"A run counts in its state and in no other; after its end it counts nowhere, whether or not it was " +
			"pruned.",
		func(w *world) {
			submitted := w.submit("a")
			ready := alone(0)
			ready[0].Ready, ready[0].OldestReady = 1, submitted.QueuedAt
			wanted := []store.EngineSurvey{{Engine: "agent", Queued: 1, OldestReady: submitted.QueuedAt, Nodes: 1}}
			require.Equal(w, store.Survey{Queued: 1, Ready: 1, OldestReady: submitted.QueuedAt, Nodes: 1, Pools: ready,
				Engines: wanted}, w.survey())

			running := w.start("n")
			require.Equal(w, store.Survey{Running: 1, Nodes: 1, Pools: alone(1)}, w.survey())

			parked := w.commit(Asked(running, w.tick(), false, time.Time{}))
			require.Equal(w, store.Survey{Waiting: 1, OldestWaiting: parked.Pending.AskedAt, Nodes: 1, Pools: alone(0)},
				w.survey())

			again := w.commit(Answered(parked, w.tick(), ""))
			ready[0].OldestReady, wanted[0].OldestReady = again.QueuedAt, again.QueuedAt
			require.Equal(w, store.Survey{Queued: 1, Ready: 1, OldestReady: again.QueuedAt, Nodes: 1, Pools: ready,
				Engines: wanted}, w.survey(),
				"its age counts from when it was queued last")

			w.commit(ended(w.start("n"), w.tick(), fsm.StateSucceeded))
			require.Equal(w, store.Survey{Nodes: 1, Pools: alone(0)}, w.survey())
			_, err := w.store.Prune(w.ctx, w.tick(), 1)
			require.NoError(w, err)
			require.Equal(w, store.Survey{Nodes: 1, Pools: alone(0)}, w.survey())
		},
	},
	{
		"survey/a sticky run has its slot already",
		"A parked sticky run counts as waiting, and its slot as held in its pool; its next turn counts as queued " +
			"but not as ready, since it needs no slot (D3, D4).",
		func(w *world) {
			parked := w.sticking("a")
			require.Equal(w, store.Survey{Waiting: 1, OldestWaiting: parked.Pending.AskedAt, Nodes: 1, Pools: alone(1)},
				w.survey())
			w.commit(Answered(parked, w.tick(), ""))
			require.Equal(w, store.Survey{Queued: 1, Nodes: 1, Pools: alone(1)}, w.survey())
			w.start("n")
			require.Equal(w, store.Survey{Running: 1, Nodes: 1, Pools: alone(1)}, w.survey())
		},
	},
	{
		"survey/what is held back is ready at its time",
		"A queued run counts as delayed until its not-before time and as ready from then on, whether or not there " +
			"was a claim since.",
		func(w *world) {
			at := w.now.Add(time.Hour)
			run := w.submit("later", notBefore(at))
			wanted := []store.EngineSurvey{{Engine: "agent", Queued: 1, Nodes: 1}}
			delayed := store.Survey{Queued: 1, Delayed: 1, Nodes: 1, Pools: alone(0), Engines: wanted}
			require.Equal(w, delayed, w.survey())
			w.now = at.Add(-time.Microsecond)
			require.Equal(w, delayed, w.survey(), "a microsecond early")
			w.now = at
			ready := store.Survey{Queued: 1, Nodes: 1, Engines: []store.EngineSurvey{{Engine: "agent", Queued: 1,
				OldestReady: run.QueuedAt, Nodes: 1}}}
			pool := alone(0)[0]
			pool.Ready, pool.OldestReady = 1, run.QueuedAt
			ready.Add(pool)
			require.Equal(w, ready, w.survey(), "at its time")

			w.pool("p", 1, 0)
			w.submit("urgent", withPriority(9))
			require.Equal(w, []string{"urgent"}, w.claimed("n", 9), "a claim comes by, and there is no slot for it")
			s := w.survey()
			require.Equal(w, []int{1, 0, 1, 1}, []int{s.Queued, s.Delayed, s.Ready, s.Running})
			require.Equal(w, run.QueuedAt, s.OldestReady)
		},
	},
	{
		"survey/what is due",
		"The due ones are the open questions whose deadline is at or before the time, including those of sticky " +
			"runs. A question without a deadline is never due, a settled one no more.",
		func(w *world) {
			at := w.now.Add(time.Hour)
			first := w.running("a")
			w.commit(Asked(first, w.tick(), false, at))
			w.commit(Asked(w.running("b"), w.tick(), true, at.Add(time.Microsecond)))
			w.waiting("never")
			w.now = at.Add(-time.Microsecond)
			require.Zero(w, w.survey().Due)
			w.now = at
			require.Equal(w, 1, w.survey().Due)
			w.now = at.Add(time.Microsecond)
			require.Equal(w, 2, w.survey().Due)
			w.commit(Answered(w.load("a"), w.now, ""))
			require.Equal(w, 1, w.survey().Due)
			w.commit(ended(w.load("b"), w.now, fsm.StateFailed))
			s := w.survey()
			require.Equal(w, []int{0, 1}, []int{s.Due, s.Waiting})
		},
	},
	{
		"survey/the oldest goes, the next is the oldest",
		"The oldest ready run, in the store and in each pool, and the oldest open question belong to runs that " +
			"are there now, whatever their priority and key.",
		func(w *world) {
			w.pool("q", 5, 1)
			oldest := w.submit("q1", inPool("q"), withKey("z"), withPriority(-1))
			second := w.submit("q2", inPool("q"), withKey("a"), withPriority(7))
			third := w.submit("p1")
			s := w.survey()
			require.Equal(w, 3, s.Ready)
			require.Equal(w, oldest.QueuedAt, s.OldestReady)
			require.Equal(w, []time.Time{third.QueuedAt, oldest.QueuedAt}, []time.Time{s.Pools[0].OldestReady,
				s.Pools[1].OldestReady})
			require.Equal(w, []int{1, 2}, []int{s.Pools[0].Ready, s.Pools[1].Ready})

			w.commit(ended(oldest, w.tick(), fsm.StateCanceled))
			require.Equal(w, second.QueuedAt, w.survey().OldestReady)
			w.commit(ended(second, w.tick(), fsm.StateCanceled))
			s = w.survey()
			require.Equal(w, third.QueuedAt, s.OldestReady)
			require.Zero(w, s.Pools[1].OldestReady)

			first := w.commit(Asked(w.start("n"), w.tick(), false, time.Time{}))
			other := w.waiting("p2")
			require.Equal(w, first.Pending.AskedAt, w.survey().OldestWaiting)
			w.commit(ended(first, w.tick(), fsm.StateCanceled))
			require.Equal(w, other.Pending.AskedAt, w.survey().OldestWaiting)
		},
	},
	{
		"survey/sees what others do",
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
		"While commits go on, every run counts once: none is missed or counted twice because it moved from state to " +
			"state (I10).",
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
