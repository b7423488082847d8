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

// TestEngineReturnsWhileTurnIsSettledWithoutIt: J10, an engine that was left behind and
// returns while the store is taking what became of its turn waits for the store, and time goes on.
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

// TestFindCommittedReportsIfAnUnknownCommitWasStored: I2, a commit of unknown outcome was stored if
// the store has the version and state that it was to store, of the same epoch, or what can only
// have followed from it here.
func TestFindCommittedReportsIfAnUnknownCommitWasStored(t *testing.T) {
	held := func(version uint64, state fsm.State, owner string, epoch uint64) Run {
		return Run{ID: "r", Version: version, State: state, Owner: owner, Epoch: epoch}
	}
	for name, c := range map[string]struct {
		committed fsm.State // the state in version 6; the record has version 5
		stored    Run
		want      commitStatus
	}{
		"end stored":               {fsm.StateSucceeded, held(6, fsm.StateSucceeded, "", 2), commitStored},
		"report stored":            {fsm.StateRunning, held(6, fsm.StateRunning, "n", 2), commitStored},
		"wait stored and answered": {fsm.StateWaitingUser, held(7, fsm.StateQueued, "n", 2), commitStored},
		"not stored":               {fsm.StateSucceeded, held(5, fsm.StateRunning, "n", 2), commitNotStored},
		"canceled instead":         {fsm.StateSucceeded, held(6, fsm.StateCanceled, "", 2), runChanged},
		"same state, later":        {fsm.StateSucceeded, held(7, fsm.StateSucceeded, "", 2), runChanged},
		"another epoch":            {fsm.StateRunning, held(6, fsm.StateRunning, "n", 3), runChanged},
		"wait answered, no owner":  {fsm.StateWaitingUser, held(7, fsm.StateQueued, "", 2), runChanged},
		"wait taken over":          {fsm.StateWaitingUser, held(7, fsm.StateWaitingUser, "m", 2), runChanged},
		"queued instead of wait":   {fsm.StateWaitingUser, held(6, fsm.StateQueued, "n", 2), runChanged},
		"queued after a report":    {fsm.StateRunning, held(7, fsm.StateQueued, "n", 2), runChanged},
		"version of another epoch": {fsm.StateSucceeded, held(4, fsm.StateRunning, "m", 1), runChanged},
	} {
		t.Run(name, func(t *testing.T) {
			worker, n := workerAt5(t, saying{newStore(t), c.stored, nil, nil})
			defer n.die(nil)
			before, next := *worker.record, held(6, c.committed, "n", 2)
			got, lost := worker.findCommitted(&next)
			require.NoError(t, lost)
			require.Equal(t, c.want, got)
			if got == commitStored {
				require.Equal(t, c.stored, *worker.record)
			} else {
				require.Equal(t, before, *worker.record)
			}
			require.Equal(t, c.stored, *worker.reload(), "the run as others left it")
		})
	}
	t.Run("store cannot be read", func(t *testing.T) {
		worker, n := workerAt5(t, saying{newStore(t), Run{}, errAway, nil})
		defer n.die(nil)
		before, next := *worker.record, held(6, fsm.StateSucceeded, "n", 2)
		got, lost := worker.findCommitted(&next)
		require.NoError(t, lost)
		require.Equal(t, commitUnknown, got)
		require.Equal(t, before, *worker.reload(), "as the worker stored it last")
	})
	t.Run("acknowledged commit lost", func(t *testing.T) {
		worker, n := workerAt5(t, saying{newStore(t), held(4, fsm.StateRunning, "n", 2), nil, nil})
		defer n.die(nil)
		next := held(6, fsm.StateSucceeded, "n", 2)
		_, lost := worker.findCommitted(&next)
		require.ErrorIs(t, lost, engine.ErrStale)
		require.ErrorContains(t, lost, "run r is at version 4, and was at 5")
	})
}

// workerAt5 is a worker of epoch 2 that stored version 5 of its run last.
func workerAt5(t *testing.T, s store.Store) (*turn, *membership) {
	t.Helper()
	n := alone(t, s, agent{})
	record := Run{ID: "r", Version: 5, State: fsm.StateRunning, Owner: "n", Epoch: 2}
	return &turn{node: n, epoch: 2, record: &record}, n
}
