package lifecycle

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
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

// TestEngineReturnsWhileTurnIsSettledWithoutIt: J10, an abandoned engine that returns while the
// store is storing its turn's end waits for the store, and time advances.
func TestEngineReturnsWhileTurnIsSettledWithoutIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := agent{turn: func(context.Context, engine.Turn) (engine.Outcome, error) {
			time.Sleep(time.Second + node.TurnReturnLimit + 2*time.Second) // in the middle of the commit
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

// slowReports takes its time for each commit of a report.
type slowReports struct {
	store.Store
	lasts time.Duration
}

func (s slowReports) Commit(ctx context.Context, batch []store.Commit) []error {
	if batch[0].Run.State == fsm.StateRunning {
		time.Sleep(s.lasts) // the bubble's time
	}
	return s.Store.Commit(ctx, batch)
}

// TestStuckEngineIsLeftBehindOnceItsReportIsStored: J10, as long as a report of an interrupted turn
// is being stored, it is the store that takes long. An engine that does not return afterwards
// either is left behind all the same.
func TestStuckEngineIsLeftBehindOnceItsReportIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		e := sinking(func(ctx context.Context, _ engine.Turn, s engine.Sink) (engine.Outcome, error) {
			err := s.Message(ctx, engine.Message{Text: "well"})
			<-goOn
			return finished(), err
		})
		s := slowReports{newStore(t), time.Second + node.TurnReturnLimit + 5*time.Second/2}
		lc, stop := serve(t, Config{Store: s, Engine: e})
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", TurnTimeout: time.Second})
		require.NoError(t, err)
		pass(s.lasts - time.Millisecond)
		in(t, lc.Client, "r", fsm.StateRunning)
		require.Empty(t, lc.Stuck(), "the store takes long")
		pass(2 * time.Second)
		require.Equal(t, fsm.CodeTurnTimeout, in(t, lc.Client, "r", fsm.StateFailed).Error.Code)
		require.Len(t, lc.Stuck(), 1)
		close(goOn)
		synctest.Wait() // the engine returns before Serve ends
		stop()
	})
}
