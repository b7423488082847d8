package postgres_test

import (
	"crypto/rand"
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/lifecycle/lifecycletest"
	"github.com/interlude-go/interlude/lifecycle/stories"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
	"github.com/interlude-go/interlude/store/storetest"
)

func TestMain(m *testing.M) {
	if dsn := os.Getenv(envUpgrade); dsn != "" {
		if err := upgradeAndDie(dsn); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	checks := "30" // each is a separate schema
	if sample.Race {
		checks = "8" // of one goroutine: test.sh runs all of them without the race detector
	}
	for name, value := range map[string]string{ // the command line may say more
		"rapid.checks":  checks,
		"test.parallel": "4", // a case waits for the server half of its time
	} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	pgtest.Main(m)
}

// place is a store that remembers where it is, for reopening.
type place struct {
	*postgres.Store

	dsn string
	o   postgres.Options

	number  int64         // of its case, where cases are led in turn
	handles *atomic.Int64 // the number of the last handle of the case
}

// suite opens the suites' stores, each in an empty schema of one database.
type suite struct {
	dsn  string
	o    postgres.Options
	left *schemas
}

// schemas lists the schemas of finished cases, oldest first. They are emptied and reused, because this
// takes a fiftieth of the time of a migration.
type schemas struct {
	mu    sync.Mutex // guards names
	names []string
}

// resting is the number of schemas that are not reused yet, because the server ends the connections
// of a closed store with a delay.
const resting = 4

func (s *schemas) claim() (name string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.names) <= resting {
		return "", false
	}
	name, s.names = s.names[0], s.names[1:]
	return name, true
}

func (s *schemas) leave(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, name)
}

// quick is a suite on a new database, which waits for no disk: a crash of the server is another
// test's subject. In the suites' fake time days pass: neither the server's clock nor connections
// that are idle are checked then.
func quick(tb testing.TB) suite {
	tb.Helper()
	const never = "10000h"
	return suite{
		dsn: pgtest.With(pgtest.DSN(tb), "synchronous_commit=off", "pool_health_check_period="+never,
			"pool_max_conn_idle_time="+never, "pool_max_conn_lifetime="+never),
		o:    postgres.Options{NoListen: true, NoNotify: true, ClockInterval: -1},
		left: new(schemas),
	}
}

func (s suite) open(tb testing.TB) store.Store {
	tb.Helper()
	p := s.reused(tb)
	if p == nil {
		p = s.in(tb, "t_"+rand.Text())
	}
	tb.Cleanup(func() { // the case has closed its stores
		if !tb.Failed() {
			s.left.leave(p.o.Schema)
		}
	})
	return p
}

// in opens a store in the schema. The schema's name is also the name of its connections.
func (s suite) in(tb testing.TB, schema string) *place {
	tb.Helper()
	s.o.Schema = schema
	return at(tb, pgtest.With(s.dsn, "application_name="+schema), s.o)
}

// reused opens a store in the schema of a finished case. It returns nil if there is no schema, or if a
// connection of that case remains, because it could still commit.
func (s suite) reused(tb testing.TB) *place {
	tb.Helper()
	schema, ok := s.left.claim()
	if !ok {
		return nil
	}
	p := s.in(tb, schema)
	others, err := p.Clients(tb.Context(), schema)
	require.NoError(tb, err)
	if others > 0 {
		require.NoError(tb, p.Close())
		return nil
	}
	require.NoError(tb, p.Empty(tb.Context()))
	return p
}

func at(tb testing.TB, dsn string, o postgres.Options) *place {
	tb.Helper()
	s, err := postgres.Open(tb.Context(), dsn, o)
	require.NoError(tb, err)
	return &place{Store: s, dsn: dsn, o: o}
}

func reopen(tb testing.TB, s store.Store) store.Store {
	tb.Helper()
	require.NoError(tb, s.Close())
	return also(tb, s)
}

func also(tb testing.TB, s store.Store) store.Store {
	tb.Helper()
	p, ok := s.(*place)
	require.True(tb, ok)
	return at(tb, p.dsn, p.o)
}

func (s suite) run(t *testing.T) {
	t.Helper()
	storetest.Harness{Open: s.open, Reopen: reopen, Crash: also, Also: also, Lose: lose,
		Raise: raise, Parallel: true}.Run(t)
}

func raise(tb testing.TB, s store.Store) {
	tb.Helper()
	p, ok := s.(*place)
	require.True(tb, ok)
	require.NoError(tb, postgres.Restored(tb.Context(), p.dsn, p.o.Schema))
}

// lose deletes a row as another program does.
func lose(tb testing.TB, s store.Store, table storetest.Table, id string, last bool) {
	tb.Helper()
	p, ok := s.(*place)
	require.True(tb, ok)
	pool, err := pgxpool.New(tb.Context(), p.dsn)
	require.NoError(tb, err)
	defer pool.Close()
	column := map[storetest.Table]string{storetest.Journal: "entry", storetest.Settled: "id",
		storetest.Events: "last", storetest.Votes: "ctid"}[table]
	order := map[bool]string{false: "", true: " DESC"}[last]
	of := func(name string) string { return pgx.Identifier{p.o.Schema, name}.Sanitize() }
	deleted, err := pool.Exec(tb.Context(), "DELETE FROM "+of(string(table))+" WHERE (run, "+column+") = (SELECT run, "+
		"t."+column+" FROM "+of(string(table))+" t JOIN "+of("runs")+" r ON r.n = t.run WHERE r.id = $1 ORDER BY t."+
		column+order+" LIMIT 1)", id)
	require.NoError(tb, err)
	require.EqualValues(tb, 1, deleted.RowsAffected())
}

func TestStorePassesTheSuite(t *testing.T) { quick(t).run(t) }

// bubbled is a store that keeps no time: a bubble's clock runs ahead of the server's.
type bubbled struct {
	store.Store
	store.Watcher
	store.Meter

	inner store.Store
}

func bubble(s store.Store) store.Store {
	p := s.(*place)
	return &bubbled{p, p, p, p}
}

func TestRequirements(t *testing.T) {
	sample.Sequential(t) // with the race detector, on memory
	s := quick(t)
	lifecycletest.Run(t, func(tb testing.TB) store.Store {
		tb.Helper()
		return bubble(s.open(tb))
	})
}

func TestStories(t *testing.T) {
	s := quick(t)
	stories.Run(t, func(tb testing.TB) stories.Opener {
		tb.Helper()
		var first store.Store
		return func(tb testing.TB) store.Store {
			tb.Helper()
			if first == nil {
				first = s.open(tb)
				return first
			}
			return also(tb, first)
		}
	})
}

// C5: the look-up of a vote's key reads no settled question that lacks a vote with the key, however
// many the run has.
func TestVoteIsFoundWithoutReadingTheHistory(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	w.commit(s, created("r"))
	w.exec(`INSERT INTO ` + w.quoted() + `.settled (run, id, record) SELECT n, 1, '"key":"k"'::bytea FROM ` +
		w.quoted() + `.runs`)
	_, err := s.Voted(t.Context(), "r", "k")
	require.ErrorIs(t, err, store.ErrNotFound, "the damaged question was not read")
}
