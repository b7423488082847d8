package lifecycle

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// J2: a spec says how its turns are tried again; where it says nothing, the host that executes the
// turn does.
func TestRetryIsOfTheSpecElseOfTheHost(t *testing.T) {
	for name, c := range map[string]struct {
		spec, host *Retry
		state      fsm.State
	}{
		"neither":              {state: fsm.StateFailed},
		"the host":             {host: &Retry{Max: 1}, state: fsm.StateSucceeded},
		"the spec":             {spec: &Retry{Max: 1}, state: fsm.StateSucceeded},
		"the spec, not at all": {spec: &Retry{}, host: &Retry{Max: 1}, state: fsm.StateFailed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lc, stop := serve(t, Config{Retry: c.host, Engine: agent{
					turn: func(_ context.Context, in engine.Turn) (engine.Outcome, error) {
						if in.Attempt == 1 {
							busy := &engine.Failure{Code: "BUSY", Detail: "overloaded", Transient: true}
							return engine.Outcome{}, busy
						}
						return finished(), nil
					},
				}})
				defer stop()
				_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", Retry: c.spec})
				require.NoError(t, err)
				synctest.Wait()
				if c.state == fsm.StateSucceeded {
					run := in(t, lc.Client, "r", fsm.StateQueued)
					require.Equal(t, &store.Block{
						Kind: store.BlockRetry, Until: run.UpdatedAt.Add(DefaultRetryBackoff),
						Code: fsm.CodeEngineFailed, Reason: "BUSY: overloaded",
					}, run.Block)
					pass(DefaultRetryBackoff)
				}
				require.Nil(t, in(t, lc.Client, "r", c.state).Block)
			})
		})
	}
}

// J2: pauses double up to their bound, are as long as the engine asks for, and have a jitter that
// is the same whenever it is asked for.
func TestRetryPausesDoubleUpToTheirBound(t *testing.T) {
	var r Retry
	for retry, want := range map[int]time.Duration{
		1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 10: 5 * time.Minute, math.MaxInt32: 5 * time.Minute,
	} {
		require.Equal(t, want, r.pause("r", retry, 0), retry)
	}
	r = Retry{Backoff: time.Minute, MaxBackoff: 90 * time.Second}
	require.Equal(t, time.Minute, r.pause("r", 1, 0))
	require.Equal(t, 90*time.Second, r.pause("r", 2, 0))
	require.Equal(t, time.Hour, r.pause("r", 1, time.Hour))
	require.Equal(t, time.Minute, r.pause("r", 1, -time.Hour))
	require.Equal(t, MaxRetryPause, r.pause("r", 1, 2*MaxRetryPause))

	r.Jitter = time.Second
	seen := make(map[time.Duration]bool)
	for retry := range 100 {
		pause := r.pause("r", retry+2, 0)
		require.Equal(t, pause, r.pause("r", retry+2, 0))
		require.LessOrEqual(t, 90*time.Second, pause)
		require.LessOrEqual(t, pause, 91*time.Second)
		seen[pause] = true
	}
	require.Greater(t, len(seen), 50)
}

// A bad policy is refused at the edge, and the host's is its own.
func TestNewChecksRetry(t *testing.T) {
	_, err := New(Config{Engine: agent{}, Retry: &Retry{Max: -1}})
	require.EqualError(t, err, "lifecycle: Config.Retry is with Max -1, want an integer of at least 0")
	mine := Retry{Max: 3, MaxBackoff: MaxRetryPause}
	lc, err := New(Config{Engine: agent{}, Retry: &mine})
	require.NoError(t, err)
	defer lc.Close()
	mine.Max = 7
	require.Equal(t, 3, lc.cfg.Retry.Max)
}
