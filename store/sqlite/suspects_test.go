package sqlite_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/sqlite"
)

// envPoison makes this program a host on the file, in which the run "poison" kills it.
const envPoison = "INTERLUDE_TEST_POISON"

// poisonedHost runs that host until the parent kills it, or the run "poison" does, which first adds a
// byte to a file. The lease is long: the next host sees that the process is dead, whatever the lease.
func poisonedHost(path string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	lc, err := lifecycle.New(lifecycle.Config{
		Store: s, Concurrency: 4, Lease: time.Minute, Poll: 20 * time.Millisecond, Forgiving: true,
		Logger: slog.New(slog.DiscardHandler),
		Engine: engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
			takes := 300 * time.Millisecond
			if t.RunID == "poison" {
				takes = 50 * time.Millisecond
			}
			over, _ := t.Clock.Timer(takes)
			<-over
			if t.RunID == "poison" {
				deaths, err := os.OpenFile(path+".deaths", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
				if err == nil {
					_, err = deaths.WriteString("x")
				}
				var self *os.Process
				if err == nil {
					self, err = os.FindProcess(os.Getpid())
				}
				if err == nil {
					err = self.Kill()
				}
				return engine.Outcome{}, err
			}
			return engine.Done("done"), nil
		}),
	})
	if err != nil {
		return err
	}
	return lc.Serve(ctx)
}

// J3: a run that kills its process after 50 ms takes none of the healthy runs down that execute next
// to it: on one process and on three, each of which is started again when it has died.
func TestJ3APoisonRunKillsRealProcesses(t *testing.T) {
	for _, processes := range []int{1, 3} {
		t.Run(fmt.Sprint(processes, " processes"), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "runs.db")
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			require.NoError(t, err)
			defer s.Close()
			idle := engine.Func(func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
				panic("unused")
			})
			l, err := lifecycle.New(lifecycle.Config{Store: s, Engine: idle, Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, err) // which makes the pool
			ids := []string{"poison", "healthy-1", "healthy-2", "healthy-3", "healthy-4", "healthy-5"}
			for _, id := range ids {
				_, err := l.Submit(t.Context(), lifecycle.Spec{ID: id, Prompt: "x", Repeatable: true})
				require.NoError(t, err)
			}
			ctx, stop := context.WithCancel(t.Context())
			var hosts sync.WaitGroup
			for range processes {
				hosts.Go(func() {
					for ctx.Err() == nil {
						host := exec.CommandContext(ctx, os.Args[0])
						host.Env = append(os.Environ(), envPoison+"="+path)
						_ = host.Run() // it never ends well
					}
				})
			}
			for _, id := range ids {
				run, err := l.Wait(t.Context(), id)
				require.NoError(t, err)
				if id == "poison" {
					require.Equal(t, fsm.CodeTurnRepeatLimitExceeded, run.Error.Code)
				} else {
					require.Equal(t, fsm.StateSucceeded, run.State, "%s: %v", id, run.Error)
				}
			}
			stop()
			hosts.Wait()
			deaths, err := os.ReadFile(path + ".deaths")
			require.NoError(t, err)
			require.Len(t, deaths, 1+lifecycle.DefaultMaxRepeats)
		})
	}
}
