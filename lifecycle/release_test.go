package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// TestWhatATurnLeavesOnItsNode when it has ended: its process stays only with a run that goes on
// here, and is never taken from the run's next turn; and a run that is still said to execute is
// remembered as one that does not.
func TestWhatATurnLeavesOnItsNode(t *testing.T) {
	run := func(state fsm.State, profile fsm.Profile, owner string, epoch uint64) store.Run {
		return store.Run{ID: "r", State: state, Profile: profile, Owner: owner, Epoch: epoch}
	}
	sticky, resumable := fsm.ProfileStickyProcess, fsm.ProfileResumable
	for name, c := range map[string]struct {
		run      store.Run
		next     bool // another turn of the run executes here by now
		unsure   bool // its outcome was not acknowledged
		survives bool
	}{
		"it waits here":                            {run: run(fsm.StateWaitingUser, sticky, "n", 1), survives: true},
		"it was answered and is queued here":       {run: run(fsm.StateQueued, sticky, "n", 1), survives: true},
		"it waits elsewhere":                       {run: run(fsm.StateWaitingUser, sticky, "m", 1)},
		"it is queued elsewhere":                   {run: run(fsm.StateQueued, sticky, "m", 1)},
		"it waits, and needs no process":           {run: run(fsm.StateWaitingUser, resumable, "n", 1)},
		"it is queued, and needs no process":       {run: run(fsm.StateQueued, resumable, "", 1)},
		"it has ended":                             {run: run(fsm.StateSucceeded, sticky, "", 1)},
		"it was canceled":                          {run: run(fsm.StateCanceled, sticky, "n", 1)},
		"it is still said to execute":              {run: run(fsm.StateRunning, sticky, "n", 1), unsure: true},
		"it is said to have ended":                 {run: run(fsm.StateSucceeded, sticky, "", 1), unsure: true},
		"it executes in another attempt elsewhere": {run: run(fsm.StateRunning, sticky, "m", 2)},
		"its next turn executes here": {run: run(fsm.StateRunning, sticky, "n", 2), next: true,
			survives: true},
		"its next turn executes here already": {run: run(fsm.StateRunning, sticky, "n", 1), next: true,
			survives: true},
		"its next turn has ended it": {run: run(fsm.StateSucceeded, sticky, "", 2), next: true,
			survives: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newMortal()
				e.alive["r"] = true
				n := alone(t, newStore(t), e)
				defer n.die(nil)
				n.holdResident("r", DefaultEngine)
				ended, next := &turn{node: n, epoch: 1, settled: !c.unsure}, &turn{node: n, epoch: 2}
				n.turns["r"] = ended
				if c.next {
					n.turns["r"] = next
				}
				n.release(ended, c.run)
				n.workers.Wait()
				require.Equal(t, c.survives, e.alive["r"])
				require.Equal(t, c.next, n.turns["r"] != nil)
				require.Equal(t, c.unsure, n.dropped[store.Hold{RunID: "r", Epoch: 1, State: fsm.StateRunning}])
				require.Equal(t, c.unsure, len(n.dropped) > 0)
			})
		})
	}
}

// TestARunWithoutAWorkerIsSeenTo: I2, a run that is held here without a worker is seen to as it is
// by then: executed when its claim was not acknowledged, and left alone when it is not held here
// any more, or cannot be read, or there is no room.
func TestARunWithoutAWorkerIsSeenTo(t *testing.T) {
	away := errors.New("connection refused")
	for name, c := range map[string]struct {
		change  func(r *Run)
		err     error
		leaving bool
		full    bool
		spec    error
		starts  bool
	}{
		"it is held here":                      {change: func(*Run) {}, starts: true},
		"it has ended":                         {change: func(r *Run) { r.State = fsm.StateCanceled }},
		"it was given back":                    {change: func(r *Run) { r.State = fsm.StateQueued }},
		"another holds it":                     {change: func(r *Run) { r.Owner = "m" }},
		"it is held for another attempt":       {change: func(r *Run) { r.Epoch++ }},
		"it cannot be read":                    {change: func(*Run) {}, err: away},
		"its spec cannot be read":              {change: func(*Run) {}, spec: away},
		"the node leaves":                      {change: func(*Run) {}, leaving: true},
		"as many turns execute as are allowed": {change: func(*Run) {}, full: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t)
				waitsAt(t, s, "held", "n")
				stored, err := s.Run(t.Context(), "held")
				require.NoError(t, err)
				stored.State, stored.Pending = fsm.StateRunning, nil
				c.change(&stored)
				started := make(chan struct{}, 1)
				log := &journal{}
				n := alone(t, saying{s, stored, c.err, c.spec},
					agent{turn: func(context.Context, engine.Turn) (engine.Outcome, error) {
						started <- struct{}{}
						return finished(), nil
					}})
				n.log, n.leaving = slog.New(log), c.leaving
				if c.full {
					require.True(t, n.slots.TryAcquire(8))
				}
				n.man(store.Hold{RunID: "held", Epoch: 1, State: fsm.StateRunning})
				synctest.Wait()
				require.Equal(t, c.starts, len(started) == 1)
				require.Equal(t, c.starts, len(log.told()) > 0 && log.told()[0] == "WARN starting a turn whose claim "+
					"was not acknowledged")
				if !c.full {
					require.True(t, n.slots.TryAcquire(8), "no room is kept for what does not execute")
				}
				n.die(nil)
				close(n.left)
				n.workers.Wait()
			})
		})
	}
}

// saying is a store that says of each run that it is as it was told, or why it cannot.
type saying struct {
	store.Store
	run       Run
	err, spec error
}

func (s saying) Run(context.Context, string) (Run, error) { return s.run, s.err }

func (s saying) Confirm(_ context.Context, read func(store.Reader) error) error { return read(s) }

func (s saying) Spec(ctx context.Context, id string) ([]byte, error) {
	if s.spec != nil {
		return nil, s.spec
	}
	return s.Store.Spec(ctx, id)
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
			worker := &turn{node: n, epoch: 2, run: before}
			next := held(6, c.want, "n", 2)
			arrived, err := worker.arrived(&next)
			require.Equal(t, c.arrived, arrived)
			if c.arrived {
				require.Equal(t, c.stored, worker.run)
			} else {
				require.Equal(t, before, worker.run)
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

// TestAWorkerThatIsChosenIsNotIdle: two turns that last, after one that did not, execute at the
// same time.
func TestAWorkerThatIsChosenIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		started := make(chan string, 10)
		lc, stop := serve(t, Config{Store: newStore(t), Engine: agent{turn: func(_ context.Context,
			turn engine.Turn) (engine.Outcome, error) {
			started <- turn.RunID
			if turn.RunID != "short" {
				<-goOn
			}
			return finished(), nil
		}}})
		submit(t, lc, "short")
		synctest.Wait()
		for i := range 4 {
			submit(t, lc, fmt.Sprint("long", i))
			synctest.Wait()
			require.Len(t, started, 2+i, "nobody waits for a worker that is busy")
		}
		close(goOn)
		pass(time.Second)
		for i := range 4 {
			in(t, lc.Client, fmt.Sprint("long", i), fsm.StateSucceeded)
		}
		stop()
	})
}
