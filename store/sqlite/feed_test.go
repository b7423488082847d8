package sqlite_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// K8: while a feed exists, triggers note what releases without feeds commit to the same file: with
// however many events, wherever these stand. A feed that needed a run which they prune is lost.
func TestFeedHasCommitsOfEarlierReleases(t *testing.T) {
	s, _ := openMade(t, sqlite.Options{})
	checks := 0
	rapid.Check(t, func(rt *rapid.T) {
		checks++
		require.NoError(rt, s.CreateFeed(t.Context(), store.Feed{Name: "all", MaxLag: time.Hour}))
		if rapid.Bool().Draw(rt, "triggers that look at all") {
			require.NoError(rt, s.TriggersAsEarlier())
		}
		runs := make([]store.Run, 3)
		for i := range runs {
			runs[i].ID = fmt.Sprintf("r%d-%d", checks, i)
		}
		var want []string
		for range rapid.IntRange(1, 30).Draw(rt, "commits") {
			r := &runs[rapid.IntRange(0, len(runs)-1).Draw(rt, "run")]
			size := rapid.OneOf(rapid.IntRange(10, 200), rapid.Just(sqlite.MaxTail), rapid.Just(sqlite.MaxTail+10))
			c := withEvents(*r, rapid.SliceOfN(size, 0, 4).Draw(rt, "sizes")...)
			for _, e := range c.Events {
				want = append(want, fmt.Sprint(r.ID, e.Seq, string(e.Body)))
			}
			if rapid.Bool().Draw(rt, "earlier release") {
				require.NoError(rt, s.CommitAsEarlier(c))
			} else {
				require.NoError(rt, s.Commit(t.Context(), []store.Commit{c})[0])
			}
			*r = c.Run
		}
		l, free, err := s.LeaseFeed(t.Context(), "all", time.Hour, time.Now())
		require.NoError(rt, err)
		require.True(rt, free)
		page, err := s.ReadFeed(t.Context(), l, l.Cursor, 1000)
		require.NoError(rt, err)
		var got []string
		for _, commit := range page.Commits {
			for _, e := range commit.Events {
				got = append(got, fmt.Sprint(commit.RunID, e.Seq, string(e.Body)))
			}
		}
		if !page.More {
			require.Equal(rt, want, got)
		}
		require.Equal(rt, want[:len(got)], got)
		require.NoError(rt, s.DeleteFeed(t.Context(), "all"))
	})

	require.NoError(t, s.CreateFeed(t.Context(), store.Feed{Name: "all", MaxLag: time.Hour}))
	r := newRun("gone", 0)
	require.NoError(t, s.CommitAsEarlier(r))
	require.NoError(t, s.CommitAsEarlier(end(r.Run)))
	require.NoError(t, s.DeleteAsEarlier("gone"))
	_, _, err := s.LeaseFeed(t.Context(), "all", time.Hour, time.Now())
	require.ErrorIs(t, err, store.ErrFeedLost)
}
