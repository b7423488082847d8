package notify_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/host/slack"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// sqliteSettings are from docs/notify.md.
const sqliteSettings = "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"

// openSQLite opens a file as docs/notify.md says.
func openSQLite(tb testing.TB, path string) *notify.SQL {
	tb.Helper()
	db, err := sql.Open("sqlite", "file:"+path+sqliteSettings)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	q, err := notify.OpenSQLite(tb.Context(), db)
	require.NoError(tb, err)
	return q
}

func openPostgreSQL(tb testing.TB, dsn string) *notify.SQL {
	tb.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	require.NoError(tb, err)
	db := stdlib.OpenDB(*cfg)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	q, err := notify.OpenPostgreSQL(tb.Context(), db)
	require.NoError(tb, err)
	return q
}

// queues calls the test for each kind of queue, which open opens again and again.
func queues(t *testing.T, test func(t *testing.T, open func() notify.Queue)) {
	t.Run("memory", func(t *testing.T) {
		m := notify.NewMemory()
		test(t, func() notify.Queue { return m })
	})
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "notices.db")
		test(t, func() notify.Queue { return openSQLite(t, path) })
	})
	t.Run("postgresql", func(t *testing.T) {
		dsn := pgtest.DSN(t)
		test(t, func() notify.Queue { return openPostgreSQL(t, dsn) })
	})
}

// P4: the Messages of host/slack pass the same checks in memory, on SQLite and on PostgreSQL.
func TestP4MessagesKeepTheirPromises(t *testing.T) {
	dsn, path := pgtest.DSN(t), filepath.Join(t.TempDir(), "slack.db")
	cfg, err := pgx.ParseConfig(dsn)
	require.NoError(t, err)
	lite, err := sql.Open("sqlite", "file:"+path+sqliteSettings)
	require.NoError(t, err)
	post := stdlib.OpenDB(*cfg)
	defer func() { require.NoError(t, errors.Join(lite.Close(), post.Close())) }()
	memory := new(slack.Memory)
	for name, open := range map[string]func() (slack.Messages, error){
		"memory":     func() (slack.Messages, error) { return memory, nil },
		"sqlite":     func() (slack.Messages, error) { return slack.OpenSQLite(t.Context(), lite) },
		"postgresql": func() (slack.Messages, error) { return slack.OpenPostgreSQL(t.Context(), post) },
	} {
		t.Run(name, func(t *testing.T) {
			m, err := open()
			require.NoError(t, err)
			all := []slack.Message{{Run: "a", Question: 1, Place: "CDESK"}, {Run: "a", Question: 2, Place: "CDESK"},
				{Run: "a", Question: 2, Place: "UBOB", Channel: "DBOB", TS: "1.2", Shown: "s", Reminded: 7},
				{Run: "b", Question: 2, Place: "CDESK"}}
			for _, i := range []int{3, 2, 0, 1} {
				require.NoError(t, m.Add(t.Context(), all[i]))
			}
			all[0].Channel, all[0].TS = "CDESK", "1.1"
			require.NoError(t, m.Save(t.Context(), all[0])) // replaces it
			require.NoError(t, m.Add(t.Context(), slack.Message{Run: "a", Question: 1, Place: "CDESK"}))
			m, err = open()
			require.NoError(t, err)
			for question, want := range map[int][]slack.Message{0: all[:3], 1: all[:1], 2: all[1:3], 3: nil} {
				got, err := m.Of(t.Context(), "a", question)
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
			require.NoError(t, m.Forget(t.Context(), "a"))
			require.NoError(t, m.Save(t.Context(), all[0])) // by a process that has read it before
			got, err := m.Of(t.Context(), "a", 0)
			require.NoError(t, err)
			require.Empty(t, got)
			got, err = m.Of(t.Context(), "b", 0)
			require.NoError(t, err)
			require.Equal(t, all[3:], got)
		})
	}
}

func entries(run string, first, last uint64) (all []notify.Entry) {
	for seq := first; seq <= last; seq++ {
		all = append(all, notify.Entry{RunID: run, Seq: seq, Body: fmt.Appendf(nil, `{"%s": %d}`, run, seq)})
	}
	return all
}

// idsOf returns the IDs of the claimed notices, sorted.
func idsOf(claimed []notify.Claimed) []string {
	ids := make([]string, 0, len(claimed))
	for _, c := range claimed {
		ids = append(ids, c.ID())
	}
	slices.Sort(ids)
	return ids
}

// L4: a queue keeps what notify.Queue promises, in memory, on SQLite and on PostgreSQL.
func TestL4QueuesKeepTheirPromises(t *testing.T) {
	queues(t, func(t *testing.T, open func() notify.Queue) {
		ctx, q, now := t.Context(), open(), time.UnixMicro(1_770_000_000_000_000)
		claim := func(n int) (ids []string, claimed []notify.Claimed, next time.Time) {
			claimed, next, err := q.Claim(ctx, "e", now, now.Add(time.Minute), n)
			require.NoError(t, err)
			return idsOf(claimed), claimed, next
		}
		count := func(pending, dead, runs int, oldest time.Time) {
			t.Helper()
			c, err := q.Count(ctx, "e")
			require.NoError(t, err)
			require.Equal(t, []int{pending, dead, runs}, []int{c.Pending, c.Dead, c.Runs})
			require.True(t, c.Oldest.Equal(oldest), c.Oldest)
		}
		start := now
		count(0, 0, 0, time.Time{})
		require.NoError(t, q.Add(ctx, "e", append(entries("a", 9, 12), entries("b/c", 1, 2)...), now))
		require.NoError(t, q.Add(ctx, "other", entries("a", 1, 1), now))
		count(6, 0, 2, start)

		// Of each run the first one; the others wait for it, while it is claimed and while its
		// retry is not due.
		ids, claimed, next := claim(10)
		require.Equal(t, []string{"a/9", "b/c/1"}, ids)
		require.True(t, next.Equal(now.Add(time.Minute)))
		require.JSONEq(t, `{"a": 9}`, string(claimed[slices.IndexFunc(claimed, func(c notify.Claimed) bool {
			return c.RunID == "a"
		})].Body))
		ids, _, _ = claim(10)
		require.Empty(t, ids)
		a, b := claimed[0], claimed[1]
		if a.RunID != "a" {
			a, b = b, a
		}
		require.NoError(t, q.Retry(ctx, "e", a, now.Add(time.Second), "busy"))
		require.NoError(t, q.Remove(ctx, "e", b.Key()))
		require.NoError(t, q.Remove(ctx, "e", b.Key()), "none is no error")
		ids, _, next = claim(10)
		require.Equal(t, []string{"b/c/2"}, ids)
		require.True(t, next.Equal(now.Add(time.Second)))
		now = now.Add(time.Second)
		ids, claimed, _ = claim(10)
		require.Equal(t, []string{"a/9"}, ids)
		require.Equal(t, 2, claimed[0].Attempt)

		// A claim that is not the last one changes nothing.
		require.NoError(t, q.Retry(ctx, "e", a, now, "late"))
		require.NoError(t, q.Bury(ctx, "e", a, now, "late"))
		ids, _, _ = claim(10)
		require.Empty(t, ids)
		count(5, 0, 2, start)

		// A dead letter leaves the order of its run.
		require.NoError(t, q.Bury(ctx, "e", claimed[0], now, "gone"))
		require.NoError(t, q.Retry(ctx, "e", claimed[0], now, "late"))
		count(4, 1, 2, start)
		ids, claimed, _ = claim(1)
		require.Equal(t, []string{"a/10"}, ids)
		dead, err := q.Dead(ctx, "e", notify.Key{}, 10)
		require.NoError(t, err)
		require.Len(t, dead, 1)
		require.Equal(t, []any{"a/9", 2, "gone", true, `{"a": 9}`}, []any{dead[0].ID(), dead[0].Attempts, dead[0].Reason,
			dead[0].Died.Equal(now), string(dead[0].Body)})
		require.NoError(t, q.Bury(ctx, "e", claimed[0], now, "gone"))
		for _, page := range []struct {
			after notify.Key
			limit int
			want  []uint64
		}{
			{notify.Key{}, 10, []uint64{9, 10}},
			{notify.Key{}, 1, []uint64{9}},
			{notify.Key{RunID: "a", Seq: 9}, 10, []uint64{10}},
			{notify.Key{RunID: "a", Seq: 10}, 10, nil},
			{notify.Key{RunID: "0", Seq: 99}, 10, []uint64{9, 10}},
			{notify.Key{RunID: "b"}, 10, nil},
		} {
			dead, err := q.Dead(ctx, "e", page.after, page.limit)
			require.NoError(t, err)
			var got []uint64
			for _, d := range dead {
				got = append(got, d.Seq)
			}
			require.Equal(t, page.want, got, page)
		}

		// Repeated entries do not change, unless the event differs.
		require.NoError(t, q.Add(ctx, "e", entries("a", 9, 12), now.Add(time.Hour)))
		count(3, 2, 2, start)
		require.NoError(t, q.Add(ctx, "e", []notify.Entry{{RunID: "a", Seq: 10, Body: []byte(`{"another": "run"}`)}}, now))
		count(4, 1, 2, start)
		ids, claimed, _ = claim(1)
		require.Equal(t, []string{"a/10"}, ids)
		require.Equal(t, 1, claimed[0].Attempt)
		require.JSONEq(t, `{"another": "run"}`, string(claimed[0].Body))

		// A dead letter that is revived is before the later ones.
		require.ErrorIs(t, q.Revive(ctx, "e", notify.Key{RunID: "a", Seq: 10}, now), notify.ErrNoDeadLetter)
		require.ErrorIs(t, q.Revive(ctx, "e", notify.Key{RunID: "a", Seq: 8}, now), notify.ErrNoDeadLetter)
		require.NoError(t, q.Revive(ctx, "e", notify.Key{RunID: "a", Seq: 9}, now))
		now = now.Add(time.Hour)
		ids, claimed, _ = claim(10)
		require.Equal(t, []string{"a/9", "b/c/2"}, ids)
		require.Equal(t, 3, claimed[0].Attempt+claimed[1].Attempt, "the revived one begins anew")

		// Another caller finds the same; nothing is the other endpoint's.
		q = open()
		count(5, 0, 2, start)
		require.NoError(t, q.Clear(ctx, "e"))
		count(0, 0, 0, time.Time{})
		ids, _, next = claim(10)
		require.Empty(t, ids)
		require.Zero(t, next)
		c, err := q.Count(ctx, "other")
		require.NoError(t, err)
		require.Equal(t, 1, c.Pending)
	})
}

// L4: of many that claim at the same time, one gets a notice, and one run's notices come in order.
func TestL4OneOfManyClaimsANotice(t *testing.T) {
	queues(t, func(t *testing.T, open func() notify.Queue) {
		const runs, each, workers = 4, 6, 3
		q, now := open(), time.UnixMicro(1_770_000_000_000_000)
		for run := range runs {
			require.NoError(t, q.Add(t.Context(), "e", entries(fmt.Sprint("run-", run), 1, each), now))
		}
		var mu sync.Mutex
		got := make(map[string][]uint64) // guarded by mu
		total := 0
		var group sync.WaitGroup
		for range workers {
			q := open()
			group.Go(func() {
				for {
					claimed, _, err := q.Claim(context.Background(), "e", now, now.Add(time.Hour), 2)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					for _, c := range claimed {
						got[c.RunID] = append(got[c.RunID], c.Seq)
						total++
					}
					over := total >= runs*each
					mu.Unlock()
					for _, c := range claimed {
						if err := q.Remove(context.Background(), "e", c.Key()); err != nil {
							t.Error(err)
						}
					}
					if over {
						return
					}
				}
			})
		}
		group.Wait()
		for run := range runs {
			require.Equal(t, []uint64{1, 2, 3, 4, 5, 6}, got[fmt.Sprint("run-", run)])
		}
	})
}

// L4: many processes may make the table at the same time; one without the right to make it needs
// none.
func TestL4TheTableIsMadeOnce(t *testing.T) {
	dsn := pgtest.DSN(t)
	var group sync.WaitGroup
	for range 4 {
		cfg, err := pgx.ParseConfig(dsn)
		require.NoError(t, err)
		db := stdlib.OpenDB(*cfg)
		defer db.Close()
		group.Go(func() {
			if _, err := notify.OpenPostgreSQL(t.Context(), db); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `DROP TABLE interlude_notices`)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	cfg, err := pgx.ParseConfig(pgtest.With(dsn, "default_transaction_read_only=on"))
	require.NoError(t, err)
	db := stdlib.OpenDB(*cfg)
	defer db.Close()
	_, err = notify.OpenPostgreSQL(t.Context(), db)
	require.ErrorContains(t, err, "interlude_notices")
	openPostgreSQL(t, dsn)
	_, err = notify.OpenPostgreSQL(t.Context(), db)
	require.NoError(t, err)
}

// L4: a claim of a long queue on PostgreSQL reads few rows: on a table of an earlier version, without
// statistics, which a table that has just been filled lacks, if most notices are dead letters, and
// with a plan that was cached while the queue was empty.
func TestL4AClaimOfALongQueueReadsFewRows(t *testing.T) {
	for name, c := range map[string]struct {
		claims int // of the empty queue; then the plan is cached
		died   string
		rows   int
	}{
		"no statistics":    {0, "0", 1000},
		"dead letters":     {0, "CASE WHEN i % 50 = 0 THEN 0 ELSE 1 END", 1000},
		"an earlier queue": {9, "0", 50_000}, // the primary keys of the endpoint, once
	} {
		t.Run(name, func(t *testing.T) {
			ctx, dsn, now := t.Context(), pgtest.DSN(t), time.Now()
			cfg, err := pgx.ParseConfig(dsn)
			require.NoError(t, err)
			db := stdlib.OpenDB(*cfg)
			defer db.Close()
			db.SetMaxOpenConns(1) // whose statistics are read, and whose plans are cached
			exec := func(statement string) {
				_, err := db.ExecContext(ctx, statement)
				require.NoError(t, err)
			}
			old, _, _ := strings.Cut(notify.SchemaPostgreSQL, ";\n")
			exec(old)
			exec(`ALTER TABLE interlude_notices SET (autovacuum_enabled = false)`)
			fill := `INSERT INTO interlude_notices SELECT 'e', 'run-' || (i / 2), i % 2, '1', 0, 0, 0, ` + c.died + `, ''
				FROM generate_series(1, 40000) i`
			if c.claims == 0 {
				exec(fill) // before the index
			}
			q, err := notify.OpenPostgreSQL(ctx, db)
			require.NoError(t, err)
			for range c.claims {
				claimed, _, err := q.Claim(ctx, "e", now, now.Add(time.Hour), 16)
				require.NoError(t, err)
				require.Empty(t, claimed)
			}
			if c.claims > 0 {
				exec(fill)
			}
			read := func() (rows, scans int) {
				exec(`SELECT pg_stat_force_next_flush()`)
				require.NoError(t, db.QueryRowContext(ctx, `SELECT coalesce(seq_tup_read, 0) + (SELECT sum(idx_tup_read)
					FROM pg_stat_user_indexes WHERE relname = 'interlude_notices'), (SELECT idx_scan
					FROM pg_stat_user_indexes WHERE indexrelname = 'interlude_notices_next')
					FROM pg_stat_user_tables WHERE relname = 'interlude_notices'`).Scan(&rows, &scans))
				return rows, scans
			}
			before, scanned := read()
			claimed, next, err := q.Claim(ctx, "e", now, now.Add(time.Hour), 16)
			require.NoError(t, err)
			require.Len(t, claimed, 16)
			require.False(t, next.IsZero())
			rows, scans := read()
			require.Less(t, rows-before, c.rows)
			require.Equal(t, 2, scans-scanned, "the index by due is read for the claims and for the next time")
		})
	}
}

// L4: a table of an earlier version gets its index.
func TestL4AnEarlierTableGetsItsIndex(t *testing.T) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "notices.db")+sqliteSettings)
	require.NoError(t, err)
	defer db.Close()
	old, _, _ := strings.Cut(notify.Schema, ";\n")
	_, err = db.ExecContext(t.Context(), old)
	require.NoError(t, err)
	for range 2 {
		_, err = notify.OpenSQLite(t.Context(), db)
		require.NoError(t, err)
	}
	var found int
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM sqlite_master
		WHERE name = 'interlude_notices_next'`).Scan(&found))
	require.Equal(t, 1, found)
}
