package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// departures returns when each node went, by node id.
func (w *world) departures() map[string]time.Time {
	w.Helper()
	all, err := w.store.Departures(w.ctx)
	require.NoError(w, err)
	at := make(map[string]time.Time, len(all))
	for i, d := range all {
		require.True(w, i == 0 || all[i-1].ID < d.ID)
		at[d.ID] = d.At
	}
	return at
}

// expireAt expires a node's lease with this time as now, which a store with its own clock ignores.
func (w *world) expireAt(now time.Time, id string) {
	w.Helper()
	_, err := w.store.Expire(w.ctx, now, id)
	require.NoError(w, err)
}

var departureCases = []promised{
	{
		"departure/recovers what the node parked",
		"After a node's departure, each call shows its parked runs as recovered, with the time and the reason, at " +
			"an unchanged version: nothing was written for them (J7, E1, E8).",
		func(w *world) {
			parked := w.until("parked", w.now.Add(time.Hour))
			w.join("other")
			w.submit("theirs")
			theirs := w.commit(Asked(w.start("other"), w.tick(), false, time.Time{}))
			meter, metered := w.store.(store.Meter)
			var before store.Counters
			if metered {
				before = meter.Counters()
			}
			w.expireAt(w.tick(), "n")
			if metered {
				require.Equal(w, before.Commits, meter.Counters().Commits)
			}
			at, gone := w.departures()["n"]
			require.True(w, gone)
			want := parked
			want.ShowDeparture(at)
			require.Equal(w, store.RecoveredWaiting, want.Recovery)
			require.Equal(w, store.PreservedReason, want.RecoveryReason)
			require.False(w, want.RecoveredAt.Before(parked.UpdatedAt))
			require.Equal(w, want.Version, parked.Version)
			require.Equal(w, text(w, want), w.snapshot("parked").Run)
			due, _, err := w.store.Due(w.ctx, w.now.Add(2*time.Hour), 9)
			require.NoError(w, err)
			require.Len(w, due, 1)
			require.Equal(w, text(w, want), text(w, due[0]))
			lists := []func(context.Context, store.Query) (store.Page, error){w.store.Runs, waitsOf(w.store)}
			for _, list := range lists {
				for _, q := range []store.Query{{}, {Newest: true}, {Pool: "p"}} {
					page, err := list(w.ctx, q)
					require.NoError(w, err)
					require.Len(w, page.Runs, 2)
					for _, r := range page.Runs {
						if r.ID == "parked" {
							require.Equal(w, text(w, want), text(w, r))
						} else {
							require.Equal(w, text(w, theirs), text(w, r))
						}
					}
				}
			}
			require.Empty(w, w.orphans(9))
		},
	},
	{
		"departure/is made once",
		"A node departs at one time, which is also the time of its runs' recovery, whoever expires it, and however " +
			"often (E6).",
		func(w *world) {
			w.waiting("a")
			var all atomic.Int32
			w.race(4, func(ctx context.Context, i int, s store.Store) error {
				gone, err := s.Expire(ctx, w.now.Add(time.Duration(i)*time.Second), "n")
				all.Add(int32(len(gone)))
				return err
			})
			require.EqualValues(w, 1, all.Load())
			at, first := w.departures()["n"], w.load("a")
			for range 3 {
				w.expireAt(w.now.Add(time.Minute), "n")
			}
			require.Equal(w, at, w.departures()["n"])
			require.Equal(w, first, w.load("a"))
		},
	},
	{
		"departure/refuses commits based on the state before it",
		"A commit based on the run as it was before its node's departure is ErrConflict, although the version is " +
			"right: a reader that has seen the recovery never reads the run without it.",
		func(w *world) {
			before := w.waiting("a")
			w.expireAt(w.tick(), "n")
			w.refused(store.ErrConflict, Answered(before, w.tick(), ""))
			w.refused(store.ErrConflict, ended(before, w.tick(), fsm.StateCanceled))
			w.commit(Answered(w.load("a"), w.tick(), ""))
		},
	},
	{
		"departure/of a node without one",
		"A parked run may name a node that is neither registered nor departed, because a node of an older release " +
			"parked it or took it over: the next call of Expire records the departure.",
		func(w *world) {
			r := w.waiting("a")
			w.commit(Changed(r, w.tick(), func(r *store.Run) { r.Owner = "old" }))
			require.Equal(w, store.RecoveryNone, w.load("a").Recovery)
			gone, err := w.store.Expire(w.ctx, base)
			require.NoError(w, err)
			require.Empty(w, gone)
			require.Contains(w, w.departures(), "old")
			require.NotContains(w, w.departures(), "n")
			require.Equal(w, store.RecoveredWaiting, w.load("a").Recovery)
		},
	},
	{
		"departure/is deleted when no run names it",
		"Expire deletes the departure of a node that no parked run names any more, so there are never many.",
		func(w *world) {
			w.waiting("a")
			for i := range 5 {
				id := fmt.Sprint("n", i)
				w.join(id)
				w.expireAt(w.tick(), id)
			}
			w.expireAt(w.tick(), "n")
			require.Contains(w, w.departures(), "n")
			w.commit(ended(w.load("a"), w.tick(), fsm.StateCanceled))
			w.expire("nobody")
			require.Empty(w, w.departures())
		},
	},
	{
		"departure/races with a reply",
		"When a reply races with the departure of the node that parked the run, the reply is stored once, " +
			"whichever comes first; a refused reply is repeated.",
		func(w *world) {
			for i := range 8 {
				id, node := fmt.Sprint("r", i), fmt.Sprint("n", i)
				w.join(node)
				w.submit(id)
				w.commit(Asked(w.start(node), w.tick(), false, time.Time{}))
				now := w.tick()
				w.race(3, func(ctx context.Context, k int, s store.Store) error {
					if k == 0 {
						_, err := s.Expire(ctx, now, node)
						return err
					}
					for {
						r, err := s.Run(ctx, id)
						if err != nil || len(r.Open) == 0 {
							return err
						}
						if err := one(ctx, s, Answered(r, now, "")); !errors.Is(err, store.ErrConflict) {
							return err
						}
					}
				})
				require.Len(w, w.snapshot(id).History, 1)
				w.commit(ended(w.load(id), w.tick(), fsm.StateCanceled))
			}
		},
	},
}
