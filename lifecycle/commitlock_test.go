package lifecycle

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// slowCommits takes its time for each commit that ends a run.
type slowCommits struct{ store.Store }

func (s slowCommits) Commit(ctx context.Context, batch []store.Commit) []error {
	if batch[0].Run.State == fsm.StateFailed {
		time.Sleep(5 * time.Second) // the bubble's time
	}
	return s.Store.Commit(ctx, batch)
}

// TestAnEngineReturnsWhileItsTurnIsSettledWithoutIt: J10, an engine that was left behind and
// returns while the store is taking what became of its turn waits for the store, and time goes on.
func TestAnEngineReturnsWhileItsTurnIsSettledWithoutIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := agent{turn: func(context.Context, engine.Turn) (engine.Outcome, error) {
			time.Sleep(time.Second + turnPatience + 2*time.Second) // in the middle of the commit
			return finished(), nil
		}}
		lc, stop := serve(t, Config{Store: slowCommits{newStore(t)}, Engine: e})
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", TurnTimeout: time.Second})
		require.NoError(t, err)
		pass(time.Minute)
		require.Equal(t, fsm.CodeTurnTimeout, in(t, lc.Client, "r", fsm.StateFailed).Error.Code)
		require.Empty(t, lc.Stuck())
		stop()
	})
}
