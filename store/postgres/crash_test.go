package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pglocal"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// author writes one run until stopped, whatever happens to the server, and remembers the
// acknowledgements.
type author struct {
	*world

	run          store.Run
	unsure       bool              // an earlier commit may still be on its way
	n            int               // commits that were tried
	acknowledged map[uint64]string // by seq: the body of the acknowledged event
	written      atomic.Int64      // commits that were acknowledged
	unknown      atomic.Int64      // with unknown outcome
	mistaken     error             // what must not be
}

// write makes one commit, and finds out what became of it.
func (a *author) write(s *postgres.Store) error {
	a.n++
	c := report(a.run)
	body := fmt.Sprintf(`{"run":%q,"try":%d}`, a.run.ID, a.n)
	c.Events[0].Body = []byte(body)
	err := s.Commit(a.Context(), []store.Commit{c})[0]
	if err == nil {
		a.run, a.unsure = c.Run, false
		a.acknowledged[c.Run.Seq] = body
		a.written.Add(1)
		return nil
	}
	if errors.Is(err, store.ErrConflict) && a.unsure { // the commit in transit has arrived
		return a.awaitRun(s, func(r store.Run) error {
			if r.Version != a.run.Version+1 {
				return fmt.Errorf("%w, and it is at version %d", err, r.Version)
			}
			a.unsure = false
			return nil
		})
	}
	for _, refusal := range sentinels {
		if errors.Is(err, refusal) {
			return fmt.Errorf("refused: %w", err)
		}
	}
	unknown := strings.Contains(err.Error(), "outcome unknown")
	if unknown {
		a.unsure = true
		a.unknown.Add(1)
	}
	return a.awaitRun(s, func(r store.Run) error {
		switch {
		case r.Version == a.run.Version:
			return nil
		case r.Version == c.Run.Version && a.unsure:
			return nil
		}
		return fmt.Errorf("version %d became %d, and its author was told: %w", a.run.Version, r.Version, err)
	})
}

// awaitRun reads the run as soon as the server is there.
func (a *author) awaitRun(s *postgres.Store, judge func(store.Run) error) error {
	for late := time.Now().Add(patience); ; {
		r, err := s.Run(a.Context(), a.run.ID)
		if err == nil {
			err = judge(r)
			a.run = r
			return err
		}
		if errors.Is(err, store.ErrNotFound) || time.Now().After(late) {
			return err
		}
	}
}

// authors write while trouble is made. Trouble is given a function that waits until each of them
// has written something more.
func (w *world) authors(s *postgres.Store, trouble func(progress func())) (unknown int64) {
	w.Helper()
	all := make([]*author, 24)
	for i := range all {
		all[i] = &author{world: w, run: w.commit(s, created(fmt.Sprintf("run-%d", i))),
			acknowledged: make(map[uint64]string)}
	}
	var writing sync.WaitGroup
	var stop atomic.Bool
	for _, a := range all {
		writing.Go(func() {
			for !stop.Load() && a.mistaken == nil {
				a.mistaken = a.write(s)
			}
		})
	}
	trouble(func() {
		w.Helper()
		var before []int64
		for _, a := range all {
			before = append(before, a.written.Load())
		}
		require.Eventually(w, func() bool {
			for i, a := range all {
				if a.written.Load() < before[i]+3 {
					return false
				}
			}
			return true
		}, 2*patience, time.Millisecond)
	})
	stop.Store(true)
	writing.Wait()
	for _, a := range all {
		require.NoError(w, a.mistaken)
		a.check(s)
		unknown += a.unknown.Load()
	}
	return unknown
}

// check: everything acknowledged is there, once, without a gap.
func (a *author) check(s *postgres.Store) {
	a.Helper()
	r := a.load(s, a.run.ID)
	require.Equal(a, a.run.Version, r.Version)
	seen := make(map[string]bool)
	var last uint64
	for last < r.Seq {
		events, err := s.Events(a.Context(), r.ID, last, 1000)
		require.NoError(a, err)
		require.NotEmpty(a, events)
		for _, e := range events {
			last++
			require.Equal(a, last, e.Seq)
			require.False(a, seen[string(e.Body)], "%s is there twice", e.Body)
			seen[string(e.Body)] = true
			if told, ok := a.acknowledged[e.Seq]; ok {
				require.Equal(a, told, string(e.Body))
				delete(a.acknowledged, e.Seq)
			}
		}
	}
	require.Empty(a, a.acknowledged, "acknowledged, and lost")
}

// F8: the server is killed with kill -9 and restarted while commits are under way. Each
// acknowledged commit is there afterwards, none is there twice, and a commit whose outcome is
// unknown returns an error that says so. The server flushes to its disk here, as PostgreSQL does
// by default.
func TestStoreRecoversFromServerCrash(t *testing.T) {
	server := pgtest.Start(t, pglocal.Options{})
	w := &world{t, server.DSN(""), "interlude"}
	s := w.open(postgres.Options{Timeout: 5 * time.Second})
	w.furnish(s)
	unknown := w.authors(s, func(progress func()) {
		for range 3 {
			progress()
			require.NoError(t, server.Kill())
			require.NoError(t, server.Resume(t.Context()))
			progress()
			require.NoError(t, server.Restart(t.Context()))
		}
		progress()
	})
	require.Positive(t, unknown, "commits were on their way")
	require.NoError(t, second(s.Inspect(t.Context())))
	require.True(t, s.Now().After(time.Now().Add(-time.Minute)))
}

// A proxy cuts the connections to the server again and again, in the middle of any exchange.
func TestStoreReconnectsAfterConnectionLoss(t *testing.T) {
	w, direct := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	p, dsn := newProxy(t, w.dsn)
	s, err := postgres.Open(t.Context(), dsn, postgres.Options{Schema: w.schema, Timeout: 5 * time.Second})
	require.NoError(t, err)
	defer s.Close()
	unknown := w.authors(s, func(progress func()) {
		for range 30 {
			progress()
			p.cut()
		}
		progress()
	})
	require.Positive(t, unknown, "commits were on their way")
	require.Equal(t, w.load(direct, "run-0"), w.load(s, "run-0"))
}
