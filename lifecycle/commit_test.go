package lifecycle

import (
	"context"
	"errors"
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

// TestACommitOfUnknownOutcomeIsLookedFor: I2, it was made when the store has the version and state
// that it was to make, of the same epoch, or what may have followed from it here.
func TestACommitOfUnknownOutcomeIsLookedFor(t *testing.T) {
	held := func(version uint64, state fsm.State, owner string, epoch uint64) Run {
		return Run{ID: "r", Version: version, State: state, Owner: owner, Epoch: epoch}
	}
	for name, c := range map[string]struct {
		want    fsm.State // of version 6, on top of 5
		stored  Run
		err     error
		arrived bool
		lost    bool
	}{
		"it was made": {fsm.StateSucceeded, held(6, fsm.StateSucceeded, "", 2), nil, true,
			false},
		"a report was made": {fsm.StateRunning, held(6, fsm.StateRunning, "n", 2), nil, true,
			false},
		"it was not": {fsm.StateSucceeded, held(5, fsm.StateRunning, "n", 2),
			errUnchanged, false, false},
		"another was first": {fsm.StateSucceeded, held(6, fsm.StateCanceled, "", 2), nil, false,
			false},
		"the same state, later": {fsm.StateSucceeded, held(7, fsm.StateSucceeded, "", 2), nil,
			false, false},
		"it was made, in another attempt": {fsm.StateRunning, held(6, fsm.StateRunning, "n", 3), nil, false,
			false},
		"it waited and was answered": {fsm.StateWaitingUser, held(7, fsm.StateQueued, "n", 2), nil, true,
			false},
		"it waited and was answered, held by none": {fsm.StateWaitingUser, held(7, fsm.StateQueued, "", 2), nil, false,
			false},
		"it waited and was taken over": {fsm.StateWaitingUser, held(7, fsm.StateWaitingUser, "m", 2), nil,
			false, false},
		"another was first, and it is ours": {fsm.StateWaitingUser, held(6, fsm.StateQueued, "n", 2), nil,
			false, false},
		"it did not wait, and somebody was first": {fsm.StateRunning, held(7, fsm.StateQueued, "n", 2), nil, false,
			false},
		"nobody can say": {fsm.StateSucceeded, held(6, fsm.StateSucceeded, "", 2), errAway,
			false, false},
		"what was acknowledged before is not there": {fsm.StateSucceeded, held(4, fsm.StateRunning, "n", 2), nil, false,
			true},
		"an earlier attempt is there": {fsm.StateSucceeded, held(4, fsm.StateRunning, "m", 1), nil, false,
			false},
	} {
		t.Run(name, func(t *testing.T) {
			var away error
			if !errors.Is(c.err, errUnchanged) {
				away = c.err
			}
			n := alone(t, saying{newStore(t), c.stored, away, nil}, agent{})
			defer n.die(nil)
			before := held(5, fsm.StateRunning, "n", 2)
			worker := &turn{node: n, epoch: 2, record: before}
			next := held(6, c.want, "n", 2)
			arrived, err := worker.findCommitted(&next)
			require.Equal(t, c.arrived, arrived)
			if c.arrived {
				require.Equal(t, c.stored, worker.record)
			} else {
				require.Equal(t, before, worker.record)
			}
			if c.lost {
				require.ErrorIs(t, err, engine.ErrStale)
				require.ErrorContains(t, err, "run r is at version 4, and was at 5")
			} else {
				require.ErrorIs(t, err, c.err)
			}
			if away == nil {
				require.Equal(t, c.stored, worker.reload(), "the run as others left it")
			} else {
				require.Equal(t, before, worker.reload(), "as the worker knows it")
			}
		})
	}
}
