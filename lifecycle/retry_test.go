package lifecycle

import (
	"context"
	"testing"
	"testing/synctest"

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
