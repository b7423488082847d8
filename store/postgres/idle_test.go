package postgres_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// M5: an idle store only reads the server's clock, and not even that if the options say so. It
// works in a bubble of testing/synctest as long as it does not listen.
func TestM5AnIdleStoreReadsTheClockAlone(t *testing.T) {
	for name, c := range map[string]struct {
		interval time.Duration
		reads    int64
	}{
		"by default":        {0, 60},
		"each half an hour": {30 * time.Minute, 2},
		"never":             {-1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dsn, schema := pgtest.Schema(t)
			synctest.Test(t, func(t *testing.T) {
				pool, err := pgxpool.New(t.Context(), dsn)
				require.NoError(t, err)
				defer pool.Close()
				s, err := postgres.New(t.Context(), pool, postgres.Options{Schema: schema, NoListen: true,
					ClockInterval: c.interval})
				require.NoError(t, err)
				defer func() { require.NoError(t, s.Close()) }()
				synctest.Wait()
				before := pool.Stat().AcquireCount()
				time.Sleep(time.Hour + time.Second)
				synctest.Wait()
				require.Equal(t, c.reads, pool.Stat().AcquireCount()-before)
			})
		})
	}
}

// fleet has several nodes that share a connection pool. They run with the fake time of
// testing/synctest, and receive no notifications.
type fleet struct {
	pool  *pgxpool.Pool
	nodes []*lifecycle.Lifecycle
}

// newFleet returns nodes whose turns take a while.
func newFleet(t *testing.T, dsn, schema string, nodes int, turn time.Duration) *fleet {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), dsn)
	require.NoError(t, err)
	f := &fleet{pool: pool}
	t.Cleanup(pool.Close)
	for range nodes {
		s, err := postgres.New(t.Context(), pool, postgres.Options{Schema: schema, NoListen: true,
			ClockInterval: -1})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		f.nodes = append(f.nodes, serving(t, lifecycle.Config{Store: s, Engine: engine.Func(
			func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
				time.Sleep(turn)
				if len(t.Answers) == 0 {
					return engine.Ask(interaction.Question{Prompt: "?"}), nil
				}
				return engine.Done("done"), nil
			})}))
	}
	return f
}

// transactions counts the transactions of do.
func (f *fleet) transactions(do func()) int64 {
	synctest.Wait()
	before := f.pool.Stat().AcquireCount()
	do()
	synctest.Wait()
	return f.pool.Stat().AcquireCount() - before
}

// R4: in a second, an idle node looks once, for runs and deadlines together. Every five seconds it
// renews its lease, and reads the nodes and the orphans. Here recovery renews it, too, because the
// test's time passes faster than the server's.
func TestIdleNodeMakesFewTransactions(t *testing.T) {
	dsn, schema := pgtest.Schema(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, dsn, schema, 1, 0)
		time.Sleep(time.Minute)
		require.LessOrEqual(t, f.transactions(func() { time.Sleep(time.Minute) }), int64(60+4*12+2))
	})
}

// R4: a run that takes as long as with a slow standby needs at most 1.3 times as many transactions
// with 16 nodes as with one. The times differ from those of polls, so that no poll finds a run.
func TestTransactionsHardlyGrowWithNodes(t *testing.T) {
	const runs, turn = 100, 21 * time.Millisecond
	count := make(map[int]int64)
	for _, nodes := range []int{1, 16} {
		dsn, schema := pgtest.Schema(t)
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, dsn, schema, nodes, turn)
			time.Sleep(500 * time.Millisecond)
			count[nodes] = f.transactions(func() {
				for i := range runs {
					by := f.nodes[i%nodes]
					run, err := by.Submit(t.Context(), lifecycle.Spec{Prompt: "x"})
					require.NoError(t, err)
					for e, err := range by.Events(t.Context(), run.ID, 0) {
						require.NoError(t, err)
						if e.Type == "user.input.required" {
							_, err = by.Reply(t.Context(), run.ID, interaction.Reply{ID: 1, Text: "yes"})
							require.NoError(t, err)
						}
					}
				}
			})
		})
	}
	require.GreaterOrEqual(t, count[1], int64(7*runs))
	require.LessOrEqual(t, count[16]*10, count[1]*13)
	t.Log(count)
}
