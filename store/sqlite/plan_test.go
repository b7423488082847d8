package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// There are at most as many held runs as slots, and a claim counts them; a listing follows its
// index; everything else is sought.
var mayScan = regexp.MustCompile(
	`^SCAN (runs USING (COVERING )?INDEX runs_(held|created)|owners|nodes|pools|sqlite_schema|CONSTANT ROW)`)

// A survey scans the waiting and ready runs and those with a slot; it seeks the due ones.
var mayCount = regexp.MustCompile(
	`^(SCAN runs USING (COVERING INDEX runs_(ready|waiting)|INDEX runs_held)$|SEARCH runs USING (COVERING )?INDEX runs_(ready|held|waiting|deadline|delayed) |SEARCH u USING PRIMARY KEY |USE TEMP B-TREE FOR GROUP BY$)`)

// I13: no statement of a round trip scans the runs or their events: an index that holds only the
// matching rows answers each.
func TestStatementsUseIndexes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s, err := sqlite.Open(t.Context(), path, quiet)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	live(t, s)

	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	explained := 0
	hot := s.Statements()
	for text := range hot {
		if !strings.Contains(text, "runs") && !strings.Contains(text, "log") && !strings.Contains(text, "settled") {
			continue
		}
		sorts := strings.Contains(text, "FROM labels AS l") // some runs, of which it is known that they are few
		for _, step := range plan(t, db, text) {
			if strings.HasPrefix(step, "SCAN") {
				require.Regexp(t, mayScan, step, text)
			}
			if !sorts {
				require.NotContains(t, step, "TEMP B-TREE FOR ORDER BY", text)
			}
		}
		explained++
	}
	require.Greater(t, explained, 25)

	// A survey counts unfinished runs: in the index of the count, or in the rows that hold a slot or
	// have just come due.
	_, err = db.ExecContext(t.Context(), `INSERT INTO usage VALUES (0, 1, 0, 0, 0, 0)`)
	require.NoError(t, err, "so that usage is looked up")
	_, err = s.Survey(t.Context(), noon)
	require.NoError(t, err)
	counted := 0
	for text := range s.Statements() {
		if hot[text] || !strings.Contains(text, "runs") {
			continue
		}
		for _, step := range plan(t, db, text) {
			require.Regexp(t, mayCount, step, text)
		}
		counted++
	}
	require.Equal(t, 12, counted)
}

// I13: a listing by label finds the runs with the rarest label in the index of labels, and
// checks the other labels there. When many runs have each label, it walks in the order of the
// listing and checks all labels in the index. It decodes no record that the index does not name.
func TestRunsByLabelUsesIndex(t *testing.T) {
	s, path := openMade(t, quick)
	db := plain(t, path)
	some := newRun("some", 10)
	some.Run.Labels = map[string]string{"team": "blue", "few": "yes"}
	put(t, s, some)
	_, err := db.ExecContext(t.Context(),
		`WITH RECURSIVE many(n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM many WHERE n < ?)
		INSERT INTO labels SELECT ?, n FROM many`, 1000+sqlite.FewRuns, sqlite.HashLabel("team", "blue"))
	require.NoError(t, err)
	before := s.Statements()
	for _, labels := range []map[string]string{{"team": "blue"}, {"team": "blue", "few": "yes"}} {
		for _, list := range []func(context.Context, store.Query) (store.Page, error){s.Runs, waits(s)} {
			for _, newest := range []bool{false, true} {
				_, err := list(t.Context(), store.Query{Labels: labels, Newest: newest,
					After: store.Cursor{At: noon}.String(), Pool: "p", Key: "k"})
				require.NoError(t, err)
			}
		}
	}
	few, many := 0, 0
	for text := range s.Statements() {
		if before[text] || !strings.Contains(text, "runs") || !strings.Contains(text, "labels") {
			continue
		}
		steps := strings.Join(plan(t, db, text), "\n")
		require.NotContains(t, steps, "json", text)
		require.Regexp(t, `SEARCH labels (EXISTS )?USING (COVERING INDEX|PRIMARY KEY).*\(label=\? AND run=\?\)`, steps,
			text)
		if strings.Contains(text, "FROM labels AS l") {
			require.Contains(t, steps, "SEARCH l USING PRIMARY KEY (label=?)\nSEARCH runs USING INTEGER PRIMARY KEY "+
				"(rowid=?)", text)
			few++
			continue
		}
		require.Regexp(t, `SEARCH runs USING INDEX runs_(created|waiting) \(`, steps, text)
		require.NotContains(t, steps, "TEMP B-TREE", text)
		many++
	}
	require.Equal(t, []int{4, 6}, []int{few, many}) // the waiting ones are in two ranges
}

// plan is how SQLite executes a statement.
func plan(t *testing.T, db *sql.DB, text string) (steps []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, make([]any, strings.Count(text, "?"))...)
	require.NoError(t, err, text)
	defer rows.Close()
	for rows.Next() {
		var a, b, c int
		var step string
		require.NoError(t, rows.Scan(&a, &b, &c, &step))
		steps = append(steps, step)
	}
	require.NoError(t, rows.Err())
	return steps
}

// live has the store do everything that a host has it do.
func live(t *testing.T, s *sqlite.Store) {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, s.SetPool(ctx, slots.Pool{Name: slots.DefaultPool, Capacity: 4, KeyCapacity: 2}))
	require.NoError(t, s.Join(ctx, store.Node{ID: "n", Lease: time.Hour}, noon))
	first := newRun("first", 10)
	first.Run.Key = "tenant"
	put(t, s, first, newRun("second", 10))
	for range 2 {
		for _, c := range start(t, s, 4) {
			if len(c.Run.Answers) > 0 {
				put(t, s, end(c.Run))
				continue
			}
			told := report(c.Run)
			put(t, s, told)
			parked := ask(told.Run)
			put(t, s, parked)
			put(t, s, answer(parked.Run, "key"))
		}
	}
	free := claim("n") // in a pool where keys have no bound
	free.Engines = []string{"e"}
	require.NoError(t, s.SetPool(ctx, slots.Pool{Name: "free", Capacity: 1}))
	_, err := s.Claim(ctx, free)
	require.NoError(t, err)
	_, err = s.Renew(ctx, "n", noon)
	require.NoError(t, err)
	_, _, err = s.Due(ctx, noon, 10)
	require.NoError(t, err)
	_, err = s.Orphans(ctx, 0, 10)
	require.NoError(t, err)
	_, err = s.Events(ctx, "first", 0, 10)
	require.NoError(t, err)
	_, _, err = store.ReadHistory(ctx, s, "first")
	require.NoError(t, err)
	_, err = s.Settled(ctx, "first", "key")
	require.NoError(t, err)
	_, err = s.Interaction(ctx, "first", 1)
	require.NoError(t, err)
	_, err = s.Spec(ctx, "first")
	require.NoError(t, err)
	_, err = s.Pools(ctx)
	require.NoError(t, err)
	_, err = waits(s)(ctx, store.Query{After: store.Cursor{At: noon, ID: "first"}.String()})
	require.NoError(t, err)
	_, err = s.Runs(ctx, store.Query{})
	require.NoError(t, err)
	_, err = s.Prune(ctx, noon.Add(time.Hour), 10)
	require.NoError(t, err)
}

// J5: a listing of held runs scans only the index rows of held runs, and sorts them, however many
// others are parked or have ended.
func TestHeldRunsUseIndex(t *testing.T) {
	s, path := openMade(t, quick)
	db := plain(t, path)
	before := s.Statements()
	for _, list := range []func(context.Context, store.Query) (store.Page, error){s.Runs, waits(s)} {
		for _, newest := range []bool{false, true} {
			for _, q := range []store.Query{{}, {States: []fsm.State{fsm.StateWaitingUser}},
				{After: store.Cursor{At: noon}.String(), Pool: "p", Key: "k"}} {
				q.Held, q.Newest = true, newest
				_, err := list(t.Context(), q)
				require.NoError(t, err)
			}
		}
	}
	listings := 0
	for text := range s.Statements() {
		if before[text] || !strings.Contains(text, "FROM runs") {
			continue
		}
		steps := plan(t, db, text)
		require.Equal(t, "SEARCH runs USING INDEX runs_delayed (delayed_until>?)", steps[0], text)
		require.NotContains(t, strings.Join(steps, "\n"), "SCAN", text)
		listings++
	}
	require.Equal(t, 12, listings)
}

// K9: a person's questions are found in their own index rows, and among the questions for
// everybody, in the order of the listing.
func TestWaitingForSomebodyUsesIndexes(t *testing.T) {
	s, path := openMade(t, quick)
	db := plain(t, path)
	before := s.Statements()
	for _, q := range []store.Query{{}, {Newest: true}, {After: store.Cursor{At: noon}.String(), Pool: "p", Key: "k"}} {
		for _, who := range []*interaction.Actor{nil, {ID: "ada", Groups: []string{"finance"}}} {
			require.NoError(t, second(s.Waiting(t.Context(), store.WaitingQuery{Query: q, For: who})))
		}
	}
	ranges := 0
	for text := range s.Statements() {
		if before[text] || !strings.Contains(text, "FROM runs") && !strings.Contains(text, "FROM asked") {
			continue
		}
		steps := strings.Join(plan(t, db, text), "\n")
		require.NotContains(t, steps, "SCAN", text)
		require.NotContains(t, steps, "TEMP B-TREE", text)
		require.Regexp(t, `^SEARCH (asked USING PRIMARY KEY \(principal=\?|runs USING (COVERING )?INDEX runs_waiting \(+asked_at)`,
			steps, text)
		ranges++
	}
	require.Equal(t, 9, ranges)
	before = s.Statements()
	require.NoError(t, second(s.Waiting(t.Context(), store.WaitingQuery{DueBefore: noon})))
	for text := range s.Statements() {
		if !before[text] && strings.Contains(text, "runs_deadline") {
			require.Equal(t, "SEARCH runs USING INDEX runs_deadline (deadline>? AND deadline<?)",
				strings.Replace(plan(t, db, text)[0], "(deadline<?)", "(deadline>? AND deadline<?)", 1), text)
		}
	}
}
