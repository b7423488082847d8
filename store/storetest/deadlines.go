package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
)

func (w *world) until(id string, deadline time.Time) store.Run {
	w.Helper()
	return w.commit(Asked(w.running(id), w.tick(), false, deadline))
}

func (w *world) due(now time.Time, limit int) ([]string, time.Time) {
	w.Helper()
	runs, next, err := w.store.Due(w.ctx, now, limit)
	require.NoError(w, err)
	for _, r := range runs {
		require.Equal(w, text(w, w.load(r.ID)), text(w, r))
	}
	return ids(runs), next
}

var deadlineCases = []promised{
	{
		"deadline/is due at its time, not a microsecond before",
		"A waiting run is due from its deadline on; before that, its deadline is the next time (D2, D3).",
		func(w *world) {
			at := base.Add(time.Hour)
			w.until("a", at)
			due, next := w.due(at.Add(-time.Microsecond), 9)
			require.Empty(w, due)
			require.Equal(w, at, next)
			due, next = w.due(at, 9)
			require.Equal(w, []string{"a"}, due)
			require.True(w, next.IsZero(), "nothing falls due after now")
		},
	},
	{
		"deadline/the oldest first, up to the limit",
		"Due returns the oldest deadlines first, at most limit of them; the next time is after now, however many " +
			"runs the limit cut off.",
		func(w *world) {
			for _, h := range []int{3, 1, 5, 2, 4} {
				w.until(fmt.Sprintf("h%d", h), base.Add(time.Duration(h)*time.Hour))
			}
			due, next := w.due(base.Add(3*time.Hour), 2)
			require.Equal(w, []string{"h1", "h2"}, due)
			require.Equal(w, base.Add(4*time.Hour), next)
			due, _ = w.due(base.Add(9*time.Hour), 9)
			require.Equal(w, []string{"h1", "h2", "h3", "h4", "h5"}, due)
		},
	},
	{
		"deadline/can be moved",
		"A commit that moves a deadline changes when the run is due.",
		func(w *world) {
			r := w.until("a", base.Add(time.Hour))
			w.commit(Changed(r, w.tick(), func(r *store.Run) { r.Deadline = base.Add(2 * time.Hour) }))
			due, next := w.due(base.Add(time.Hour), 9)
			require.Empty(w, due)
			require.Equal(w, base.Add(2*time.Hour), next)
		},
	},
	{
		"deadline/a limit must be positive",
		"A limit below 1 is ErrInvalid.",
		func(w *world) {
			_, _, err := w.store.Due(w.ctx, w.now, 0)
			require.ErrorIs(w, err, store.ErrInvalid)
		},
	},
}
