package postgres_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
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

// R4: in a second, an idle node looks once for runs and once for deadlines. Every five seconds it
// renews its lease, and reads the nodes and the orphans. Here recovery renews it, too, because the
// test's time passes faster than the server's.
func TestIdleNodeMakesFewTransactions(t *testing.T) {
	dsn, schema := pgtest.Schema(t)
	synctest.Test(t, func(t *testing.T) {
		pool, err := pgxpool.New(t.Context(), dsn)
		require.NoError(t, err)
		defer pool.Close()
		s, err := postgres.New(t.Context(), pool, postgres.Options{Schema: schema, NoListen: true,
			ClockInterval: -1})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		lc, err := lifecycle.New(lifecycle.Config{Store: s, Engine: engine.Func(
			func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
				return engine.Done("done"), nil
			})})
		require.NoError(t, err)
		defer lc.Close()
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error)
		go func() { served <- lc.Serve(ctx) }()
		defer func() {
			stop()
			require.NoError(t, <-served)
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		before := pool.Stat().AcquireCount()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.LessOrEqual(t, pool.Stat().AcquireCount()-before, int64(2*60+4*12+2))
	})
}
