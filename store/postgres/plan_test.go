package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

var planNoon = time.Date(2030, 6, 1, 12, 0, 0, 0, time.UTC)

// crowd fills a store: many parked and finished runs, and few that anybody has to do with.
func crowd(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	for _, name := range []string{"p", "q"} { // as long as the crowd is made
		require.NoError(t, s.SetPool(ctx, slots.Pool{Name: name, Capacity: 10_000}))
	}
	require.NoError(t, s.Join(ctx, store.Node{ID: "n", Lease: time.Hour}, planNoon))
	put := func(batch []store.Commit) {
		for _, err := range s.Commit(ctx, batch) {
			require.NoError(t, err)
		}
	}
	follow := func(r store.Run, change func(r *store.Run)) store.Commit {
		r.Version++
		r.Seq++
		change(&r)
		return store.Commit{Run: r, Expect: r.Version - 1, Events: []store.Event{{Seq: r.Seq, Body: []byte(`{"n":2}`)}}}
	}
	start := func(r store.Run, _ []byte) (store.Commit, error) {
		return follow(r, func(r *store.Run) { r.State, r.Attempt = fsm.StateRunning, r.Attempt+1 }), nil
	}
	made := 0
	some := func(n int, then func(r *store.Run, i int)) {
		for part := range slices.Chunk(make([]int, n), 400) {
			var batch []store.Commit
			for range part {
				made++
				r := store.Run{
					ID: fmt.Sprintf("run-%06d", made), Version: 1, Pool: "p", Key: fmt.Sprint("k", made%20),
					State: fsm.StateQueued, Seq: 1, Profile: fsm.ProfileResumable, Engine: []string{"a", "b",
						"a"}[made%3],
					CreatedAt: planNoon.Add(time.Duration(made) * time.Millisecond), Recovery: store.RecoveryNone,
					Mode: fsm.ModeInteractive,
				}
				if made%2 == 0 {
					r.Pool = "q"
				}
				r.UpdatedAt, r.QueuedAt = r.CreatedAt, r.CreatedAt
				batch = append(batch, store.Commit{Run: r, Spec: []byte(`{}`),
					Events: []store.Event{{Seq: 1, Body: []byte(`{"n":1}`)}}})
			}
			put(batch)
			if then == nil {
				continue
			}
			claimed, err := s.Claim(ctx, store.ClaimRequest{Node: "n", Now: planNoon.Add(time.Hour), Max: len(batch),
				Start: start})
			require.NoError(t, err)
			require.Len(t, claimed, len(batch))
			for i, c := range claimed {
				batch[i] = follow(c.Run, func(r *store.Run) { then(r, made-i) })
			}
			put(batch)
		}
	}
	some(6000, func(r *store.Run, i int) {
		r.State, r.Slot, r.Interactions = fsm.StateWaitingUser, false, 1
		r.Open = []interaction.Question{{ID: 1, Prompt: "Go on?",
			AskedAt: planNoon.Add(time.Duration(i) * time.Second)}}
		r.Deadline = planNoon.Add(time.Duration(i) * time.Hour)
	})
	some(6000, func(r *store.Run, i int) {
		r.State, r.Slot, r.Owner, r.FinishedAt = fsm.StateCanceled, false, "",
			planNoon.Add(time.Duration(i)*time.Second)
	})
	require.NoError(t, s.SetPool(ctx, slots.Pool{Name: "p", Capacity: 50, KeyCapacity: 10}))
	require.NoError(t, s.SetPool(ctx, slots.Pool{Name: "q", Capacity: 50}))
	some(300, nil)
	claimed, err := s.Claim(ctx, store.ClaimRequest{Node: "n", Now: planNoon.Add(time.Hour), Max: 20, Start: start})
	require.NoError(t, err)
	sticky := claimed[0].Run
	for _, change := range []func(r *store.Run){
		func(r *store.Run) {
			r.State, r.Interactions, r.Open = fsm.StateWaitingUser, 1, []interaction.Question{{ID: 1, Prompt: "Go on?",
				AskedAt: planNoon}}
		},
		func(r *store.Run) { r.State, r.Open, r.QueuedAt = fsm.StateQueued, nil, planNoon },
	} {
		next := follow(sticky.Clone(), change)
		if len(sticky.Open) > 0 {
			next.Settled = []interaction.Record{{Question: sticky.Open[0], Resolution: interaction.UserReply,
				ResolvedAt: planNoon}}
		}
		put([]store.Commit{next})
		sticky = next.Run
	}
	foreigners(t, s, 100_000)
}

// foreigners queues the run late, and n runs of an engine that no node has ahead of all others.
func foreigners(t *testing.T, s *Store, n int) {
	t.Helper()
	late := store.Run{
		ID: "late", Version: 1, Pool: "q", State: fsm.StateQueued, CreatedAt: planNoon, UpdatedAt: planNoon,
		QueuedAt:  planNoon,
		NotBefore: planNoon.Add(2 * time.Hour), Recovery: store.RecoveryNone,
	}
	require.NoError(t, s.Commit(t.Context(), []store.Commit{{Run: late, Spec: []byte(`{}`)}})[0])
	_, err := s.pool.Exec(t.Context(), inSchema(foreignText, s.o.Schema), n)
	require.NoError(t, err)
}

const foreignText = `WITH made AS (
		INSERT INTO interlude.runs (created_at, id, spec) SELECT i, 'foreign-' || i, ''
			FROM generate_series(1, $1::int) AS i RETURNING n, id, created_at
	)
	INSERT INTO interlude.states (n, id, version, state, engine, pool, key, priority, queued_at, ready, slot, epoch,
		record)
	SELECT n, id, 1, 'queued', 'ab', CASE WHEN n % 2 = 0 THEN 'p'
		ELSE 'q' END, convert_to('k' || n % 20, 'UTF8'), 100, created_at, true, false, 0, '' FROM made`

// plan is a node of what EXPLAIN (ANALYZE, FORMAT JSON) says.
//
//nolint:tagliatelle // the names are PostgreSQL's
type plan struct {
	Kind     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Index    string  `json:"Index Name"`
	Rows     float64 `json:"Actual Rows"`
	Loops    float64 `json:"Actual Loops"`
	Filtered float64 `json:"Rows Removed by Filter"`
	Rechecks float64 `json:"Rows Removed by Index Recheck"`
	Plans    []plan  `json:"Plans"`
}

// tables are the growing tables.
var tables = []string{"runs", "states", "events", "settled", "asked"}

// walk visits the plan and adds up how many rows of the tables are touched.
func (p *plan) walk(visit func(*plan)) (touched float64) {
	visit(p)
	if slices.Contains(tables, p.Relation) && strings.Contains(p.Kind, "Scan") {
		touched = (p.Rows + p.Filtered + p.Rechecks) * p.Loops
	}
	for i := range p.Plans {
		touched += p.Plans[i].walk(visit)
	}
	return touched
}

// Every frequent statement of a busy or an idle host finds its rows by an index, and touches only
// the required rows, however many runs are parked, have ended, or want an engine that the node does
// not have (J4): with the permanent plan of a prepared statement, made when the tables were empty.
func TestFrequentStatementsUseIndexes(t *testing.T) {
	dsn, schema := pgtest.Schema(t)
	s, err := Open(t.Context(), dsn, Options{Schema: schema, NoListen: true, NoNotify: true})
	require.NoError(t, err)
	defer s.Close()
	now, later := planNoon.Add(time.Hour).UnixMicro(), planNoon.Add(10*time.Hour).UnixMicro()
	engines := [][]byte{[]byte("a"), []byte("b")}
	statements := []struct {
		name string
		text statement
		args []any
		most float64 // rows touched
	}{
		{"peek", peekText, []any{"n", now, engines, engines}, 4 + 2*20}, // the held runs
		// the next two due times
		{"peek for nothing", peekText, []any{"none", int64(0), [][]byte{[]byte("aa")}, engines[:0]}, 2},
		{"peek for any engine", peekAnyText, []any{"n", now}, 5},
		{"claim: release", releaseText, []any{later}, 2},
		{"claim: sticky", stickyText, []any{"n", int64(10)}, 1},
		{"claim: lock", lockText, []any{engines}, 8},
		// the held runs, and the picked and locked ones
		{"claim: ready", readyText, []any{int64(10), engines}, 40 + 4 + 2*22},
		{"claim: priority", priorityText, []any{"p", int64(1 << 62), engines}, 2},
		{"claim: keys", keysText, []any{"p", int64(0), []byte("k3"), int64(10), int64(5), engines}, 120},
		{"claim: oldest", oldestText, []any{"p", int64(0), [][]byte{[]byte("k1"), []byte("k3")}, []int64{3, 4},
			engines}, 2 * 8},
		{"claim: load", loadText, []any{[]int64{12050, 12060}}, 4},
		{"commit: snapshot", snapshotText, []any{[]string{"run-000001", "run-012000"}, []string{"n", "n"},
			[][]byte{[]byte("a"), nil}, []string{"p", "q"}}, 8},
		{"commit: free rows", freeRowsText, []any{[]int64{1, 2, 3}}, 3},
		{"run", runsText, []any{[]string{"run-000001", "run-012000", "none"}, []int64{0, 0, 0}, []int64{0, 0, 0},
			[]int64{0, 0, 0}}, 6},
		{"spec", specText, []any{"run-000100"}, 1},
		{"settled", settledText, []any{"run-000100", []byte("key")}, 2},
		{"history", historyText, []any{"run-000100", int64(0), int64(100), int64(1 << 20)}, 3},
		{"history: newest", newestText, []any{"run-000100", int64(9), int64(100), int64(1 << 20)}, 3},
		{"voted", votedText, []any{"run-000100", []byte("key")}, 2},
		{"events", eventsText, []any{"run-000100", int64(0), int64(100), int64(1 << 20)}, 4},
		{"events after the last", eventsText, []any{"run-000100", int64(3), int64(100), int64(1 << 20)}, 1},
		{"due", dueText, []any{now, int64(10)}, 12},
		{"renew", renewText, []any{"n"}, 20},
		{"orphans", orphansText, []any{int64(0), int64(10)}, 22},
		{"prune", pruneText, []any{later, int64(5)}, 5 + 5 + 10 + 5 + 5},
		{"commit: create", createOneText, createArgs(t, s, "new"), 0},
		{"commit: create several", createText, createArgs(t, s, "new", "newer"), 0},
		{"commit: update", updateTexts[updateKind{one: true}], updateArgs(t, s, 7), 1},
		{"commit: update several", updateTexts[updateKind{}], updateArgs(t, s, 7, 8), 2},
	}
	// The plans are made while there is nothing, on one connection, as each keeps its own.
	conn, err := s.pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	for i, st := range statements {
		explained(t, conn.Conn(), s, fmt.Sprint("s", i), st.text, st.args, true)
	}
	crowd(t, s)
	for i, st := range statements {
		t.Run(st.name, func(t *testing.T) {
			p := explained(t, conn.Conn(), s, fmt.Sprint("s", i), st.text, st.args, false)
			touched := p.walk(func(p *plan) {
				if slices.Contains(tables, p.Relation) {
					require.NotEqual(t, "Seq Scan", p.Kind, "of %s", p.Relation)
					require.NotEqual(t, "Bitmap Heap Scan", p.Kind, "of %s", p.Relation)
				}
			})
			require.LessOrEqual(t, touched, st.most, "rows touched")
			if st.most > 0 {
				require.Positive(t, touched, "a statement that touches nothing proves nothing")
			}
		})
	}
	t.Run("held", func(t *testing.T) { checkHeldListings(t, s) })
	t.Run("asked", func(t *testing.T) { checkInbox(t, s) })
}

// The first page of a person's inbox touches as many rows as it has places for, in each range,
// however many runs wait for everybody or for others (K9).
func checkInbox(t *testing.T, s *Store) {
	t.Helper()
	ask := func(r store.Run, i int) store.Commit {
		r.Version++
		r.Seq++
		q := r.Open[0]
		q.To = &interaction.Audience{Groups: []string{[]string{"finance", "sales", "staff"}[i%3]}}
		r.Open = []interaction.Question{q}
		return store.Commit{Run: r, Expect: r.Version - 1, Events: []store.Event{{Seq: r.Seq, Body: []byte(`{}`)}}}
	}
	page, err := s.Waiting(t.Context(), store.WaitingQuery{Query: store.Query{Limit: store.MaxBatch}})
	require.NoError(t, err)
	batch := make([]store.Commit, len(page.Runs))
	for i, r := range page.Runs {
		batch[i] = ask(r, i)
	}
	for _, err := range s.Commit(t.Context(), batch) {
		require.NoError(t, err)
	}
	const limit = 20
	who := &interaction.Actor{ID: "ada", Groups: []string{"finance", "staff", "none"}}
	for name, q := range map[string]store.WaitingQuery{
		"first page": {For: who}, "all": {}, "newest": {For: who, Query: store.Query{Newest: true}},
		"next page": {For: who, Query: store.Query{
			After: store.Cursor{At: page.Runs[500].Open[0].AskedAt, ID: "x"}.String(),
		}},
	} {
		q.Limit = limit
		q, err := q.Normal()
		require.NoError(t, err)
		text, args, err := waitingText(q)
		require.NoError(t, err)
		p := explainedOnce(t, s, pageOf(text), args)
		touched := p.walk(func(p *plan) {
			require.False(t, p.Kind == "Seq Scan" && slices.Contains(tables, p.Relation), "%s of %s", name, p.Relation)
		})
		// questions for everybody; for each of two groups the row of the index and the run; and the
		// page's runs
		require.LessOrEqual(t, touched, float64((1+2*2+1)*(limit+1)), name)
		require.Positive(t, touched, name)
	}
}

// A listing of held runs touches only these, however many others are parked, wait for their turn,
// or have ended (J5).
func checkHeldListings(t *testing.T, s *Store) {
	t.Helper()
	const held = 20
	for i := range held {
		r := store.Run{ID: fmt.Sprint("held-", i), Pool: "p", State: fsm.StateQueued, CreatedAt: planNoon,
			UpdatedAt: planNoon, QueuedAt: planNoon, Recovery: store.RecoveryNone}
		c := store.Commit{Spec: []byte(`{}`)}
		if i%4 == 0 {
			parked, err := s.Run(t.Context(), fmt.Sprintf("run-%06d", i+1))
			require.NoError(t, err)
			r, c = parked, store.Commit{Expect: parked.Version}
		}
		r.Version++
		r.Seq++
		r.Block = &store.Block{Kind: store.BlockHeld, Code: fsm.CodeEngineFailed,
			Choices: []store.Choice{store.ChoiceRepeat, store.ChoiceEnd}}
		c.Run, c.Events = r, []store.Event{{Seq: r.Seq, Body: []byte(`{}`)}}
		require.NoError(t, s.Commit(t.Context(), []store.Commit{c})[0])
	}
	waiting := func(q store.Query) (string, []any, error) { return waitingText(store.WaitingQuery{Query: q}) }
	for _, textOf := range []func(store.Query) (string, []any, error){runsListText, waiting} {
		for name, q := range map[string]store.Query{"all": {}, "of a pool": {Pool: "p", Newest: true},
			"parked": {States: []fsm.State{fsm.StateWaitingUser}},
			"beyond": {After: store.Cursor{At: planNoon, ID: "held-1"}.String()}} {
			q.Held = true
			q, err := q.Normal()
			require.NoError(t, err)
			text, args, err := textOf(q)
			require.NoError(t, err)
			require.NotEmpty(t, text)
			p := explainedOnce(t, s, pageOf(text), args)
			touched := p.walk(func(p *plan) {
				require.False(t, p.Kind == "Seq Scan" && slices.Contains(tables, p.Relation), "%s of %s", name,
					p.Relation)
			})
			require.LessOrEqual(t, touched, float64(2*held), name) // each in both tables
			require.Positive(t, touched, name)
		}
	}
}

// explainedOnce executes a statement that is not prepared.
func explainedOnce(t *testing.T, s *Store, text string, args []any) plan {
	t.Helper()
	tx, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.WithoutCancel(t.Context()))
	_, err = tx.Exec(t.Context(), s.texts[settingsText])
	require.NoError(t, err)
	var body []byte
	require.NoError(t, tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+inSchema(text, s.o.Schema),
		append([]any{pgx.QueryExecModeExec}, args...)...).Scan(&body), text)
	var all []struct{ Plan plan }
	require.NoError(t, json.Unmarshal(body, &all))
	return all[0].Plan
}

// Each statement for one commit has as many arguments as the one for several commits: single values
// where the other has arrays of values by commit.
func TestStatementsForOneCommitTakeItsValues(t *testing.T) {
	dsn, schema := pgtest.Schema(t)
	s, err := Open(t.Context(), dsn, Options{Schema: schema, NoListen: true, NoNotify: true})
	require.NoError(t, err)
	defer s.Close()
	conn, err := s.pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	types := func(text statement) (names []string) {
		prepared, err := conn.Conn().Prepare(t.Context(), "", s.texts[text])
		require.NoError(t, err, s.texts[text])
		for _, oid := range prepared.ParamOIDs {
			known, ok := conn.Conn().TypeMap().TypeForOID(oid)
			require.True(t, ok, oid)
			names = append(names, known.Name)
		}
		return names
	}
	const incarnation = 22 // the index of an argument of all commits
	check := func(several, one []string, columns int) {
		require.Len(t, one, len(several))
		for i := range columns {
			if i == incarnation {
				require.Equal(t, several[i], one[i])
				continue
			}
			require.Equal(t, several[i], "_"+one[i], "of $%d", i+1)
		}
		require.Equal(t, several[columns:], one[columns:])
	}
	check(types(createText), types(createOneText), 15)
	for k, text := range updateTexts {
		columns := 22
		if k.usage {
			columns = 28
		}
		if !k.one {
			k.one = true
			check(types(text), types(updateTexts[k]), columns)
		}
	}
}

// createArgs are the arguments of the statement that creates the runs.
func createArgs(t *testing.T, s *Store, ids ...string) []any {
	t.Helper()
	var all []*pendingCommit
	for _, id := range ids {
		r := store.Run{ID: id, Version: 1, Pool: "p", State: fsm.StateQueued, Seq: 1, CreatedAt: planNoon,
			UpdatedAt: planNoon, QueuedAt: planNoon}
		all = append(all, pending(t, store.Commit{Run: r, Spec: []byte(`{}`),
			Events: []store.Event{{Seq: 1, Body: []byte(`{}`)}}}))
	}
	return args(func(b *pgx.Batch) { s.queueCreates(b, all) })
}

// updateArgs are the arguments of the statement that cancels the runs of the rows.
func updateArgs(t *testing.T, s *Store, rows ...int64) []any {
	t.Helper()
	var all []*pendingCommit
	for _, row := range rows {
		r := store.Run{ID: fmt.Sprintf("run-%06d", row), Version: 4, Pool: "p", State: fsm.StateCanceled, Seq: 4,
			CreatedAt: planNoon, UpdatedAt: planNoon, FinishedAt: planNoon}
		p := pending(t, store.Commit{Run: r, Expect: 3, Events: []store.Event{{Seq: 4, Body: []byte(`{}`)}}})
		p.row = row
		all = append(all, p)
	}
	return args(func(b *pgx.Batch) { s.queueUpdates(b, all) })
}

func pending(t *testing.T, c store.Commit) *pendingCommit {
	t.Helper()
	p, err := newPending(&c)
	require.NoError(t, err)
	return p
}

// args are the arguments of the last statement that is queued.
func args(queue func(b *pgx.Batch)) []any {
	var b pgx.Batch
	queue(&b)
	return b.QueuedQueries[len(b.QueuedQueries)-1].Arguments
}

// explained executes a statement and takes it back. The first time it is prepared.
func explained(t *testing.T, conn *pgx.Conn, s *Store, name string, text statement, args []any, first bool) (p plan) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if first {
		_, err := conn.Exec(ctx, "PREPARE "+name+" AS "+s.texts[text])
		require.NoError(t, err, s.texts[text])
	}
	tx, err := conn.Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(ctx)
	_, err = tx.Exec(ctx, s.texts[settingsText])
	require.NoError(t, err)
	places := make([]string, len(args))
	for i := range args {
		places[i] = fmt.Sprintf("$%d", i+1)
	}
	call := "EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE " + name
	if len(args) > 0 {
		call += "(" + strings.Join(places, ", ") + ")"
	}
	var body []byte
	require.NoError(t, tx.QueryRow(ctx, call, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...).Scan(&body),
		s.texts[text])
	var all []map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(body, &all))
	require.NoError(t, json.Unmarshal(all[0]["Plan"], &p))
	return p
}

// The planner's settings apply to their statement only: no session is changed (PgBouncer).
func TestPlannerSettingsEndWithQuery(t *testing.T) {
	dsn, schema := pgtest.Schema(t)
	s, err := Open(t.Context(), dsn, Options{Schema: schema, NoListen: true, NoNotify: true})
	require.NoError(t, err)
	defer s.Close()
	conn, err := s.pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	setting := func(before string) string {
		t.Helper()
		told, err := queryAfter(t.Context(), conn.Conn(), before, `SHOW enable_seqscan`, pgx.RowTo[string])
		require.NoError(t, err)
		return told[0]
	}
	require.Equal(t, "on", setting(""))
	require.Equal(t, "off", setting(s.settings()))
	require.Equal(t, "on", setting(""))
}
