package postgres_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pglocal"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// F8, I13: a server that is killed, and one that is restarted, while many commit: each commit that was acknowledged is there afterwards, with its event, none is there twice,
// and an error never says that nothing was written when it was.
func TestAServerThatDiesUnderLoad(t *testing.T) {
	server := pgtest.Start(t, pglocal.Options{})
	s, err := postgres.Open(t.Context(), server.DSN(""), postgres.Options{})
	require.NoError(t, err)
	w := &world{t, server.DSN(""), postgres.DefaultSchema}
	w.furnish(s)

	const runs = 40
	last := make([]store.Run, runs) // as it was acknowledged
	for i := range last {
		last[i] = w.commit(s, created(fmt.Sprintf("r%02d", i)))
	}
	stop := make(chan struct{})
	var work sync.WaitGroup
	for i := range last {
		work.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				next := report(last[i])
				if err := s.Commit(t.Context(), []store.Commit{next})[0]; err == nil {
					last[i] = next.Run
					continue
				}
				// The outcome is unknown: whoever wants to know looks.
				for {
					stored, err := s.Run(t.Context(), next.Run.ID)
					if err == nil && stored.Version == next.Run.Version {
						last[i] = next.Run
					}
					if err == nil {
						break
					}
					select {
					case <-stop:
						last[i].Version = 0 // nobody knows
						return
					default:
					}
				}
			}
		})
	}
	for _, disturb := range []func() error{server.Kill, func() error { return server.Restart(t.Context()) }, server.Kill} {
		commits := s.Stats().Commits
		require.Eventually(t, func() bool { return s.Stats().Commits > commits+200 }, patience, 10*time.Millisecond, "work goes on")
		require.NoError(t, disturb())
		require.NoError(t, server.Resume(t.Context()))
	}
	commits := s.Stats().Commits
	require.Eventually(t, func() bool { return s.Stats().Commits > commits+200 }, patience, 10*time.Millisecond, "work goes on afterwards")
	close(stop)
	work.Wait()
	for _, run := range last {
		require.NotZero(t, run.Version, "the server was up again")
		stored := w.load(s, run.ID)
		require.Equal(t, run.Version, stored.Version)
		events := 0
		for after := uint64(0); ; after = uint64(events) {
			some, err := s.Events(t.Context(), run.ID, after, 1000)
			require.NoError(t, err)
			for _, e := range some {
				events++
				require.EqualValues(t, events, e.Seq, "no event is missing, none is there twice")
			}
			if len(some) == 0 {
				break
			}
		}
		require.EqualValues(t, stored.Seq, events)
	}
	require.NoError(t, s.Close())
}
