package postgres_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// goroutines lists those that run this package's code, or a pool's, for a store.
func goroutines() (all []string) {
	buf := make([]byte, 16<<20)
	for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, "store/postgres.(*") || strings.Contains(g, "pgxpool.(*Pool)") {
			all = append(all, g)
		}
	}
	return all
}

// requireNothingLeft: neither a goroutine nor a session.
func (w *world) requireNothingLeft(application string) {
	w.Helper()
	require.Eventually(w, func() bool {
		return len(goroutines()) == 0
	}, patience, time.Millisecond, "goroutines are left")
	require.Eventually(w, func() bool {
		return w.sessions(`application_name = '`+application+`'`) == 0
	}, patience, time.Millisecond, "sessions are left")
}

// named opens a store with distinguishable sessions.
func (w *world) named(o postgres.Options) (s *postgres.Store, application string) {
	w.Helper()
	application = "app_" + rand.Text()
	o.Schema = w.schema
	s, err := postgres.Open(w.Context(), pgtest.With(w.dsn, "application_name="+application), o)
	require.NoError(w, err)
	return s, application
}

// Close waits for the calls under way, which are stored or refused, and ends every goroutine and
// connection.
func TestCloseEndsGoroutinesAndConnections(t *testing.T) {
	w, first := newWorld(t, postgres.Options{})
	require.NoError(t, first.Close())
	s, application := w.named(postgres.Options{})
	var calls sync.WaitGroup
	const callers = 50
	errs := make([]error, callers)
	begun := make(chan struct{}, callers)
	for i := range callers {
		calls.Go(func() {
			for n := 0; errs[i] == nil; n++ {
				errs[i] = s.Commit(t.Context(), []store.Commit{created(fmt.Sprintf("%d-%d", i, n))})[0]
				if n == 1 {
					begun <- struct{}{}
				}
				if errs[i] == nil {
					_, errs[i] = s.Run(t.Context(), fmt.Sprintf("%d-%d", i, n))
				}
			}
		})
	}
	for range callers {
		<-begun
	}
	var closing sync.WaitGroup
	for range 3 {
		closing.Go(func() { _ = s.Close() })
	}
	closing.Wait()
	calls.Wait()
	for _, err := range errs {
		require.ErrorIs(t, err, store.ErrClosed)
	}
	w.requireNothingLeft(application)
	commits := s.Counters().Commits
	again := w.open(postgres.Options{})
	survey, err := again.Survey(t.Context(), noon)
	require.NoError(t, err)
	require.EqualValues(t, commits, survey.Queued, "what was stored was acknowledged, and nothing else")
}

// A context that has ended keeps Open from opening anything. A context that ends later does not
// affect the store.
func TestOpenContextBoundsOpenOnly(t *testing.T) {
	w, first := newWorld(t, postgres.Options{})
	require.NoError(t, first.Close())
	ctx, cancel := context.WithCancel(t.Context())
	s, err := postgres.Open(ctx, w.dsn, postgres.Options{Schema: w.schema})
	require.NoError(t, err)
	cancel()
	w.hearsOf(s, hints(t, s))
	w.commit(s, created("r"))
	require.NoError(t, s.Close())

	application := "app_" + rand.Text()
	_, err = postgres.Open(ctx, pgtest.With(w.dsn, "application_name="+application), postgres.Options{Schema: w.schema})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, postgres.Migrate(ctx, w.dsn, w.schema), context.Canceled)
	w.requireNothingLeft(application)
	_, err = postgres.Open(t.Context(), pgtest.With(w.dsn, "application_name="+application),
		postgres.Options{Schema: w.schema + "none", NoMigrate: true})
	require.ErrorIs(t, err, postgres.ErrOlder)
	w.requireNothingLeft(application)
}

// Close leaves a pool of the host's open. A host that closes its pool first gets errors, and can
// still close the store.
func TestCloseLeavesHostsPoolOpen(t *testing.T) {
	w, first := newWorld(t, postgres.Options{})
	require.NoError(t, first.Close())
	pool, err := pgxpool.New(t.Context(), w.dsn)
	require.NoError(t, err)
	for range 2 { // two stores may share it, one after the other or at once
		s, err := postgres.New(t.Context(), pool, postgres.Options{Schema: w.schema})
		require.NoError(t, err)
		w.mark(s)
		require.NoError(t, s.Close())
		require.NoError(t, pool.Ping(t.Context()))
	}
	s, err := postgres.New(t.Context(), pool, postgres.Options{Schema: w.schema, NoListen: true})
	require.NoError(t, err)
	pool.Close()
	err = w.try(s, created("late"))
	require.Error(t, err)
	require.NotContains(t, err.Error(), "unknown")
	require.Error(t, second(s.Run(t.Context(), "late")))
	require.NoError(t, s.Close())
	w.requireNothingLeft("none")
}

// A call whose context ends returns at once, even when the server does not answer.
func TestCanceledCallReturnsAtOnce(t *testing.T) {
	w, first := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	r := w.commit(first, created("r"))
	require.NoError(t, first.Close())
	p, dsn := newProxy(t, w.dsn)
	s, err := postgres.Open(t.Context(), dsn, postgres.Options{Schema: w.schema, Timeout: 10 * patience})
	require.NoError(t, err)
	w.load(s, "r")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Commit(canceled, []store.Commit{report(r)})[0], context.Canceled)
	require.ErrorIs(t, second(s.Run(canceled, "r")), context.Canceled)

	p.freeze()
	for name, call := range map[string]func(context.Context) error{
		"commit": func(ctx context.Context) error { return s.Commit(ctx, []store.Commit{report(r)})[0] },
		"run":    func(ctx context.Context) error { return second(s.Run(ctx, "r")) },
		"events": func(ctx context.Context) error { return second(s.Events(ctx, "r", 0, 1)) },
		"claim": func(ctx context.Context) error {
			return second(s.Claim(ctx, store.ClaimRequest{Node: "n", Now: noon, Max: 1, Start: start}))
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		began := time.Now()
		err := call(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded, name)
		require.Less(t, time.Since(began), 10*time.Second, name) // the driver waits for 15 s
		cancel()
	}
	p.cut() // the driver abandons a dead connection after 15 s, for every caller
	p.thaw()
	require.NoError(t, s.Close())
	require.Eventually(t, func() bool { return len(goroutines()) == 0 }, patience, time.Millisecond)
}
