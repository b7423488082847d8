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
		if rapid.Bool().Draw(rt, "reader in another process") {
			s.ForgetRecentCommits()
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

// K8: the commits of one transaction are noted together, and read, acknowledged and counted one by
// one, by a reader in the process that made them as by one in another.
func TestFeedHasPartsOfATransaction(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		s, _ := openMade(t, sqlite.Options{})
		require.NoError(t, s.CreateFeed(t.Context(), store.Feed{Name: "all", MaxLag: time.Hour}))
		const commits = 10
		var batch []store.Commit
		var want, got []string
		for i := range commits {
			c := withEvents(store.Run{ID: fmt.Sprintf("r%d", i)}, 20, 30)
			batch, want = append(batch, c), append(want, c.Run.ID)
		}
		before := s.Counters().Flushes
		for _, err := range s.Commit(t.Context(), batch) {
			require.NoError(t, err)
		}
		require.Equal(t, before+1, s.Counters().Flushes)
		if elsewhere {
			s.ForgetRecentCommits()
		}
		for more := true; more; {
			l, free, err := s.LeaseFeed(t.Context(), "all", time.Hour, time.Now())
			require.NoError(t, err)
			require.True(t, free)
			page, err := s.ReadFeed(t.Context(), l, l.Cursor, 3)
			require.NoError(t, err)
			for _, c := range page.Commits {
				require.Len(t, c.Events, 2)
				got = append(got, c.RunID)
			}
			more = page.More
			require.NoError(t, s.AckFeed(t.Context(), l, page.Commits[len(page.Commits)-1].Position, time.Now()))
			require.NoError(t, s.ReleaseFeed(t.Context(), l))
			all, err := s.Feeds(t.Context())
			require.NoError(t, err)
			require.Equal(t, commits-len(got), all[0].Unacked)
		}
		require.Equal(t, want, got)
	}
}
