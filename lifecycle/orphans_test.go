package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"

	"github.com/interlude-go/interlude/lifecycle/internal/node"
)

// cleaner is an agent that cleans up processes of dead workers.
type cleaner struct {
	agent
	cleanUp func(ctx context.Context) error
}

func (c cleaner) CleanUp(ctx context.Context) error { return c.cleanUp(ctx) }

// TestCleanUpFaultsAreLoggedOnce: E7 J11, a node has each engine clean up once in a lease, and logs
// a fault when it appears and not again while it stays. The end of Serve is no fault.
func TestCleanUpFaultsAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fault atomic.Value
		fault.Store("no cgroup")
		var calls atomic.Int64
		log := &journal{}
		e := cleaner{cleanUp: func(ctx context.Context) error {
			calls.Add(1)
			switch text, _ := fault.Load().(string); text {
			case "":
				return nil
			case "hang":
				<-ctx.Done()
				return ctx.Err()
			default:
				return errors.New(text)
			}
		}}
		_, stop := serve(t, Config{Store: newStore(t), Logger: slog.New(log), Lease: 12 * time.Second,
			Engines: map[string]engine.Engine{"a": agent{}, "b": e}})
		const busy, missing = "WARN processes of dead workers may be left: busy",
			"WARN processes of dead workers may be left: no cgroup"
		require.Equal(t, []string{missing}, log.logged())
		pass(time.Minute)
		require.EqualValues(t, 6, calls.Load())
		require.Equal(t, []string{missing}, log.logged())
		for _, text := range []string{"busy", "", "busy", "busy"} {
			fault.Store(text)
			pass(12 * time.Second)
		}
		require.Equal(t, []string{missing, busy, busy}, log.logged())
		fault.Store("hang")
		pass(12 * time.Second)
		stop()
		require.Equal(t, []string{missing, busy, busy}, log.logged())
	})
}

// TestCleanUpThatHangsIsNotCalledAgain: E7 J10, nor does it keep another engine from being cleaned
// up.
func TestCleanUpThatHangsIsNotCalledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hung, others atomic.Int64
		release := make(chan struct{})
		log := &journal{}
		_, stop := serve(t, Config{Store: newStore(t), Logger: slog.New(log), Lease: 2 * node.CleanUpLimit,
			Engines: map[string]engine.Engine{
				"a": cleaner{cleanUp: func(context.Context) error { hung.Add(1); <-release; return nil }},
				"b": cleaner{cleanUp: func(context.Context) error { others.Add(1); return nil }},
			}})
		pass(10 * node.CleanUpLimit)
		require.EqualValues(t, 1, hung.Load())
		require.Greater(t, others.Load(), int64(2))
		require.Contains(t, log.logged(),
			"WARN processes of dead workers may be left: the last call has not returned yet")
		close(release)
		pass(4 * node.CleanUpLimit)
		require.Greater(t, hung.Load(), int64(1))
		stop()
	})
}
