package node

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// TestCompareHoldsInterruptsTurnsOfOtherEpochs: E3, the store's list of holds is compared with the
// executing turns: a run that is not held here, or is held for another attempt, must not execute
// here. A claim needs time to be known, a third of a lease at most; turns started after the request
// are not in its answer.
func TestCompareHoldsInterruptsTurnsOfOtherEpochs(t *testing.T) {
	const third = 4 * time.Second
	of := func(epoch uint64) []store.OwnedRun {
		return []store.OwnedRun{{RunID: "other", Epoch: 7, State: fsm.StateRunning}, {RunID: "r", Epoch: epoch,
			State: fsm.StateRunning}}
	}
	for name, c := range map[string]struct {
		held   []store.OwnedRun
		lasted time.Duration
		asked  time.Duration // after the turn started
		ended  bool
	}{
		"it is held":                             {of(2), time.Hour, time.Hour, false},
		"it is not held":                         {nil, time.Hour, time.Hour, true},
		"an earlier attempt is held":             {of(1), time.Hour, time.Hour, true},
		"a later attempt is held":                {of(3), time.Hour, time.Hour, true},
		"it started a third of a lease ago":      {nil, third, third, false},
		"it started just before":                 {nil, third + 1, third + 1, true},
		"it started when the store was asked":    {nil, time.Hour, 0, false},
		"it started just before it was asked":    {nil, time.Hour, 1, true},
		"it started after the store was asked":   {nil, time.Hour, -1, false},
		"an earlier attempt was held by then":    {of(1), time.Hour, -1, false},
		"a later attempt, and it started lately": {of(3), third, third, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := alone(t, newStore(t), agent{})
				defer n.die(nil)
				ctx, cancel := context.WithCancelCause(n.live)
				start := time.Now()
				executing := &turn{node: &n.member, owner: n, epoch: 2, started: start, ctx: ctx, cancel: cancel}
				defer executing.engineReturn.signal()
				n.turns["r"] = executing
				time.Sleep(c.lasted) // the bubble's time
				n.compareOwned(c.held, start.Add(c.asked))
				if c.ended {
					require.ErrorIs(t, context.Cause(ctx), engine.ErrStale)
				} else {
					require.NoError(t, ctx.Err())
				}
			})
		})
	}
}

// TestCompareHoldsEndsProcessesOfRunsNotHeld: D3 D6, a resident process lives as long as its run is
// held here, whether it waits or executes.
func TestCompareHoldsEndsProcessesOfRunsNotHeld(t *testing.T) {
	for name, c := range map[string]struct {
		held    bool
		turn    bool
		asked   time.Duration // after its last turn started
		leaving bool
		ended   bool
	}{
		"its run waits here":                    {held: true, asked: time.Minute},
		"its run is not held":                   {asked: time.Minute, ended: true},
		"its run executes here":                 {turn: true, asked: time.Minute},
		"it was started since the store said":   {asked: -1},
		"it was started when the store said so": {},
		"the node leaves, and ends all of them": {asked: time.Minute, leaving: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				alive := map[string]bool{"r": true, "s": true}
				n := alone(t, newStore(t), ending(alive))
				defer n.die(nil)
				start := time.Now()
				n.addResident("r", "default")
				n.leaving = c.leaving
				if c.turn {
					ctx, cancel := context.WithCancelCause(n.live)
					executing := &turn{node: &n.member, owner: n, epoch: 1, started: start, ctx: ctx, cancel: cancel}
					defer executing.engineReturn.signal()
					n.turns["r"] = executing
				}
				var held []store.OwnedRun
				if c.held {
					held = []store.OwnedRun{{RunID: "r", Epoch: 1, State: fsm.StateWaitingUser}}
				}
				n.compareOwned(held, start.Add(c.asked))
				n.workers.Wait()
				require.Equal(t, !c.ended, alive["r"])
				require.True(t, alive["s"], "nobody said that it is held here")
				_, known := n.residents["r"]
				require.Equal(t, !c.ended, known)
				n.endResidentOfEndedRun("unknown")
				n.endResidentAfterTurn("unknown")
				n.workers.Wait()
				require.True(t, alive["s"])
			})
		})
	}
}

// TestSettleUnexecutedStartsOnlyARunHeldHere: I2, a run held here without a worker is treated by
// its current state: executed when its claim was not acknowledged, and skipped when it is no longer
// held here, or cannot be read, or there is no room.
func TestSettleUnexecutedStartsOnlyARunHeldHere(t *testing.T) {
	away := errors.New("connection refused")
	for name, c := range map[string]struct {
		change  func(r *store.Run)
		err     error
		leaving bool
		full    bool
		spec    error
		starts  bool
	}{
		"it is held here":                      {change: func(*store.Run) {}, starts: true},
		"it has ended":                         {change: func(r *store.Run) { r.State = fsm.StateCanceled }},
		"it was given back":                    {change: func(r *store.Run) { r.State = fsm.StateQueued }},
		"another holds it":                     {change: func(r *store.Run) { r.Owner = "m" }},
		"it is held for another attempt":       {change: func(r *store.Run) { r.Epoch++ }},
		"it cannot be read":                    {change: func(*store.Run) {}, err: away},
		"its spec cannot be read":              {change: func(*store.Run) {}, spec: away},
		"the node leaves":                      {change: func(*store.Run) {}, leaving: true},
		"as many turns execute as are allowed": {change: func(*store.Run) {}, full: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t)
				stored := started(t, s, "n", 1, func(r *store.Run) { r.ID = "held" })[0]
				c.change(&stored)
				executed := make(chan struct{}, 1)
				var logged bytes.Buffer
				n := alone(t, saying{s, stored, c.err, c.spec},
					agent{turn: func(context.Context, engine.Turn) (engine.Outcome, error) {
						executed <- struct{}{}
						return finished(), nil
					}})
				n.proc.Log, n.leaving = slog.New(slog.NewTextHandler(&logged, nil)), c.leaving
				if c.full {
					require.True(t, n.cfg.Permits.TryAcquire(8))
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				n.settleUnexecuted(ctx, store.OwnedRun{RunID: "held", Epoch: 1, State: fsm.StateRunning})
				synctest.Wait()
				require.Equal(t, c.starts, len(executed) == 1)
				line, _, _ := strings.Cut(logged.String(), "\n")
				require.Equal(t, c.starts, strings.Contains(line,
					`level=WARN msg="starting a turn whose claim was not acknowledged"`))
				if !c.full {
					require.True(t, n.cfg.Permits.TryAcquire(8), "no room is kept for what does not execute")
				}
				n.die(nil)
				close(n.leavingCh)
				n.workers.Wait()
			})
		})
	}
}

// J9: when a later turn of the run has ended as well, it counts, however long the run has been
// listed as running.
func TestJ9TheLastTurnThatEndedCounts(t *testing.T) {
	created := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	n := &Node{turns: make(map[string]*turn), ended: make(map[string]endedTurn),
		endedBefore: make(map[string]endedTurn)}
	listed := func(epoch uint64) []store.OwnedRun {
		return []store.OwnedRun{{RunID: "a", Epoch: epoch, State: fsm.StateRunning}}
	}
	n.ended["a"] = endedTurn{1, created}
	n.findUnexecuted(nil)
	n.ended["a"] = endedTurn{2, created}
	for range 3 {
		require.Equal(t, listed(2), n.findUnexecuted(listed(2)))
		require.True(t, n.hasEnded(&store.Run{ID: "a", Epoch: 2, CreatedAt: created}))
	}
}
