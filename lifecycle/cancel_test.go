package lifecycle_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// I6: a run is canceled by a process other than the one that executes its turn. The cancel is
// stored at once. The node that executes hears of it by a hint, or, where hints are lost, when it
// renews its lease; its engine is told, and what the turn returns after that changes nothing.
func TestCancelEndsTheTurnOnAnotherNode(t *testing.T) {
	for _, c := range []struct {
		name  string
		hints bool
		cause error
		after time.Duration
	}{
		{"by a hint", true, engine.ErrCanceled, 0},
		{"at the next renewal of the lease", false, engine.ErrStale, 10 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var shared store.Store = memory.New()
				if !c.hints {
					shared = struct{ store.Store }{shared} // hides that the store is a Watcher
				}
				causes := make(chan error, 1)
				agent := engine.Func(func(ctx context.Context, _ engine.Turn, _ engine.Sink) (engine.Outcome, error) {
					<-ctx.Done()
					causes <- context.Cause(ctx)
					return engine.Done("too late"), nil
				})
				lc, err := lifecycle.New(lifecycle.Config{Store: shared, Engine: agent, Lease: 15 * time.Second})
				require.NoError(t, err)
				ctx, stop := context.WithCancel(t.Context())
				served := make(chan error)
				go func() { served <- lc.Serve(ctx) }()
				elsewhere, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: shared})
				require.NoError(t, err)
				run, err := elsewhere.Submit(ctx, lifecycle.Spec{Prompt: "Paint the house."})
				require.NoError(t, err)
				time.Sleep(4 * time.Second)

				require.NoError(t, elsewhere.Cancel(ctx, run.ID, "wrong house"))

				canceled := time.Now()
				require.ErrorIs(t, <-causes, c.cause)
				require.LessOrEqual(t, time.Since(canceled), c.after)
				synctest.Wait()
				run, err = elsewhere.Get(ctx, run.ID)
				require.NoError(t, err)
				require.Equal(t, fsm.StateCanceled, run.State)
				require.Empty(t, run.FinalText)
				stop()
				require.NoError(t, <-served)
				elsewhere.Close()
				lc.Close()
			})
		})
	}
}
