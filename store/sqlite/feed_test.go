package sqlite_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// K8: while a feed exists, triggers record the commits of releases without feeds to the same file:
// with any number of events, stored anywhere. A feed that needed a run which they prune is lost.
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

// feedRows counts a file's feed data: rows of noted and of ended, and triggers.
func feedRows(t *testing.T, db *sql.DB) []int {
	t.Helper()
	return []int{number(t, db, `SELECT count(*) FROM noted`), number(t, db, `SELECT count(*) FROM ended`),
		number(t, db, `SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'feed%'`)}
}

// readFeed reads the feed to its end, as "run/event".
func readFeed(t *testing.T, s *sqlite.Store, name string) (all []string) {
	t.Helper()
	l, free, err := s.LeaseFeed(t.Context(), name, time.Hour, time.Now())
	require.NoError(t, err)
	require.True(t, free)
	page, err := s.ReadFeed(t.Context(), l, l.Cursor, 1000)
	require.NoError(t, err)
	require.False(t, page.More)
	for _, c := range page.Commits {
		for _, e := range c.Events {
			all = append(all, fmt.Sprintf("%s/%d", c.RunID, e.Seq))
		}
	}
	return all
}

// K8 J14: a feed may become lost because an earlier release deletes a run. Commits of either
// release add nothing from then on, and the next Prune removes the feed data, including the
// triggers. A feed created later begins there, and has the commits of both releases.
func TestFeedLostByAnEarlierReleaseGrowsNoMore(t *testing.T) {
	const triggers = 3
	for name, c := range map[string]struct {
		earlierTriggers bool // that do not look whether all feeds are lost
		prune           bool // before the next feed is created
	}{
		"pruned":                               {prune: true},
		"not pruned":                           {},
		"with earlier triggers and pruned":     {earlierTriggers: true, prune: true},
		"with earlier triggers and not pruned": {earlierTriggers: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, path := openMade(t, quick)
			db := plain(t, path)
			require.NoError(t, s.CreateFeed(t.Context(), store.Feed{Name: "all", MaxLag: time.Hour}))
			if c.earlierTriggers {
				makeEarlierTriggers(t, db)
			}
			own, earlier := newRun("own", 10), newRun("earlier", 10)
			put(t, s, own)
			require.NoError(t, s.CommitAsEarlier(earlier))
			for _, id := range []string{"gone", "kept ended"} {
				r := newRun(id, 10)
				put(t, s, r, end(r.Run))
			}
			require.NoError(t, s.DeleteAsEarlier("gone"))
			_, _, err := s.LeaseFeed(t.Context(), "all", time.Hour, time.Now())
			require.ErrorIs(t, err, store.ErrFeedLost)
			before := feedRows(t, db)

			commit := func(name string) {
				own, earlier = report(own.Run), report(earlier.Run)
				put(t, s, own, newRun("own"+name, 10))
				require.NoError(t, s.CommitAsEarlier(earlier))
				require.NoError(t, s.CommitAsEarlier(newRun("earlier"+name, 10)))
			}
			commit("1")
			if !c.earlierTriggers {
				require.Equal(t, before, feedRows(t, db))
			}
			want := []int{1, 0, triggers} // the row with the last position
			if c.prune {
				_, err = s.Prune(t.Context(), noon, 10)
				require.NoError(t, err)
				require.Equal(t, []int{1, 0, 0}, feedRows(t, db))
				require.Empty(t, number(t, db, `SELECT coalesce(sum(size + length(commits)), 0) FROM noted`))
				commit("2")
				require.Equal(t, []int{1, 0, 0}, feedRows(t, db))
			} else {
				want = []int{feedRows(t, db)[0], feedRows(t, db)[1], triggers}
			}

			require.NoError(t, s.CreateFeed(t.Context(), store.Feed{Name: "next", MaxLag: time.Hour}))
			require.Equal(t, want, feedRows(t, db))
			require.Empty(t, readFeed(t, s, "next"))
			require.NoError(t, s.DeleteFeed(t.Context(), "all"))
			require.NoError(t, s.DeleteFeed(t.Context(), "next"))
			require.Equal(t, []int{1, 0, 0}, feedRows(t, db))

			require.NoError(t, s.CreateFeed(t.Context(), store.Feed{Name: "next", MaxLag: time.Hour}))
			commit("3")
			require.Equal(t, []string{fmt.Sprintf("own/%d", own.Run.Seq), "own3/1",
				fmt.Sprintf("earlier/%d", earlier.Run.Seq), "earlier3/1"}, readFeed(t, s, "next"))
		})
	}
}

// makeEarlierTriggers replaces the triggers by those of releases that created them without checking
// whether a feed needs the commit.
func makeEarlierTriggers(t *testing.T, db *sql.DB) {
	t.Helper()
	for _, name := range []string{"feed_created", "feed_changed"} {
		var text string
		require.NoError(t, db.QueryRow(`SELECT sql FROM sqlite_schema WHERE name = ?`, name).Scan(&text))
		require.Contains(t, text, sqlite.CommitsNeeded)
		_, err := db.Exec(`DROP TRIGGER ` + name + `; ` + strings.Replace(text, sqlite.CommitsNeeded, "1", 1))
		require.NoError(t, err)
	}
}

// crowdFeed inserts so many noted commits after the first position, and as many runs that have
// ended.
func crowdFeed(t *testing.T, db *sql.DB, rows int) {
	t.Helper()
	for _, text := range []string{
		`WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < ?)
			INSERT INTO noted SELECT n, 1, '1000 ' || n || ' ' || n FROM many`,
		`INSERT INTO ended SELECT 1000 + position, position FROM noted WHERE position <= ?`,
	} {
		_, err := db.ExecContext(t.Context(), text, rows)
		require.NoError(t, err)
	}
}

// K8: when the last feed is deleted or lost, its data is deleted in parts, so that no transaction
// delays others for long.
func TestWhatNoFeedNeedsIsDeletedInParts(t *testing.T) {
	const part, rows = sqlite.UnneededPart, 2*sqlite.UnneededPart + sqlite.UnneededPart/2
	s, path := openMade(t, quick)
	db := plain(t, path)
	loseAll := func() {
		require.NoError(t, s.CreateFeed(t.Context(), store.Feed{Name: "all", MaxLag: time.Hour}))
		_, err := db.ExecContext(t.Context(), `DELETE FROM noted; DELETE FROM ended`)
		require.NoError(t, err)
		crowdFeed(t, db, rows)
		_, err = db.ExecContext(t.Context(), `UPDATE feeds SET lost = 1`) // as the trigger does
		require.NoError(t, err)
	}
	loseAll()
	for before, more := feedRows(t, db), true; more; {
		var err error
		more, err = s.DeleteUnneededPart()
		require.NoError(t, err)
		after := feedRows(t, db)
		require.LessOrEqual(t, before[0]-after[0], part)
		require.LessOrEqual(t, before[1]-after[1], part)
		if before = after; more {
			require.Equal(t, 1, after[2], "the trigger stays that deletes the rows of ended with their runs")
		}
	}
	require.Equal(t, []int{1, 0, 0}, feedRows(t, db))
	require.NoError(t, s.DeleteFeed(t.Context(), "all"))

	for name, end := range map[string]func() error{
		"prune":  func() error { return second(s.Prune(t.Context(), noon, 10)) },
		"delete": func() error { return s.DeleteFeed(t.Context(), "all") },
	} {
		loseAll()
		require.NoError(t, end(), name)
		require.Equal(t, []int{1, 0, 0}, feedRows(t, db), name)
		_ = s.DeleteFeed(t.Context(), "all")
	}
}

// K8: a feed that acknowledges commits deletes as many rows, and a part of a lost feed's rows.
// Prune deletes the rest.
func TestAcknowledgingDeletesAPartOfWhatIsLeft(t *testing.T) {
	const part, rows = sqlite.UnneededPart, 3 * sqlite.UnneededPart
	s, path := openMade(t, quick)
	db := plain(t, path)
	require.NoError(t, s.CreateFeed(t.Context(), store.Feed{Name: "all", MaxLag: time.Hour}))
	crowdFeed(t, db, rows)
	_, err := db.ExecContext(t.Context(), `UPDATE feeds SET cursor = ?`, rows)
	require.NoError(t, err)
	put(t, s, newRun("a", 10))
	put(t, s, newRun("b", 10))
	l, free, err := s.LeaseFeed(t.Context(), "all", time.Hour, time.Now())
	require.NoError(t, err)
	require.True(t, free)
	page, err := s.ReadFeed(t.Context(), l, l.Cursor, 10)
	require.NoError(t, err)
	require.Len(t, page.Commits, 2)
	require.NoError(t, s.AckFeed(t.Context(), l, page.Commits[1].Position, time.Now()))
	require.Equal(t, rows-part, number(t, db, `SELECT count(*) FROM noted`))
	require.NoError(t, second(s.Prune(t.Context(), noon, 10)))
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM noted`))
}
