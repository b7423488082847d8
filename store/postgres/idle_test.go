package postgres_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

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
