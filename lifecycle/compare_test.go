package lifecycle

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// alone is a node of which nothing goes on yet.
func alone(tb testing.TB, s store.Store, e engine.Engine) *node {
	tb.Helper()
	lc := &Lifecycle{Client: clientOf(tb, s), cfg: Config{Lease: 12 * time.Second}, slots: semaphore.NewWeighted(8)}
	lc.engines = map[string]engine.Engine{DefaultEngine: e}
	n := &node{
		Lifecycle: lc, id: "n", ready: make(chan struct{}, 1), left: make(chan struct{}),
		turns: make(map[string]*turn), residents: make(map[string]resident), unmanned: make(map[store.Hold]bool),
		dropped: make(map[store.Hold]bool),
	}
	n.live, n.die = context.WithCancelCause(tb.Context())
	n.ends, n.hurry = context.WithCancel(tb.Context())
	return n
}

// TestATurnIsEndedWhenAnotherHoldsItsRun: E3, what the store says is held is compared with what
// executes: a run that is not held here, or is held for another attempt, is not executed here any
// more. A claim needs time to be known, a third of a lease at most; what began after the store was
// asked is not in its answer.
func TestATurnIsEndedWhenAnotherHoldsItsRun(t *testing.T) {
	const third = 4 * time.Second
	of := func(epoch uint64) []store.Hold {
		return []store.Hold{{RunID: "other", Epoch: 7, State: fsm.StateRunning}, {RunID: "r", Epoch: epoch,
			State: fsm.StateRunning}}
	}
	for name, c := range map[string]struct {
		held   []store.Hold
		lasted time.Duration
		asked  time.Duration // after the turn began
		ended  bool
	}{
		"it is held":                           {of(2), time.Hour, time.Hour, false},
		"it is not held":                       {nil, time.Hour, time.Hour, true},
		"an earlier attempt is held":           {of(1), time.Hour, time.Hour, true},
		"a later attempt is held":              {of(3), time.Hour, time.Hour, true},
		"it began a third of a lease ago":      {nil, third, third, false},
		"it began just before":                 {nil, third + 1, third + 1, true},
		"it began when the store was asked":    {nil, time.Hour, 0, false},
		"it began just before it was asked":    {nil, time.Hour, 1, true},
		"it began after the store was asked":   {nil, time.Hour, -1, false},
		"an earlier attempt was held by then":  {of(1), time.Hour, -1, false},
		"a later attempt, and it began lately": {of(3), third, third, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := alone(t, newStore(t), agent{})
				defer n.die(nil)
				ctx, cancel := context.WithCancelCause(n.live)
				began := time.Now()
				n.turns["r"] = &turn{node: n, epoch: 2, begun: began, cancel: cancel}
				time.Sleep(c.lasted) // the bubble's time
				n.compare(c.held, began.Add(c.asked))
				if c.ended {
					require.ErrorIs(t, context.Cause(ctx), engine.ErrStale)
				} else {
					require.NoError(t, ctx.Err())
				}
			})
		})
	}
}

// TestAProcessIsEndedWhenItsRunIsNotHeld: D3 D6, a resident process lives as long as its run is
// held here, whether it waits or executes.
func TestAProcessIsEndedWhenItsRunIsNotHeld(t *testing.T) {
	for name, c := range map[string]struct {
		held    bool
		turn    bool
		asked   time.Duration // after its last turn began
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
				e := &living{alive: map[string]bool{"r": true, "s": true}}
				n := alone(t, newStore(t), e)
				defer n.die(nil)
				began := time.Now()
				n.holdResident("r", DefaultEngine)
				n.leaving = c.leaving
				if c.turn {
					_, cancel := context.WithCancelCause(n.live)
					n.turns["r"] = &turn{node: n, epoch: 1, begun: began, cancel: cancel}
				}
				var held []store.Hold
				if c.held {
					held = []store.Hold{{RunID: "r", Epoch: 1, State: fsm.StateWaitingUser}}
				}
				n.compare(held, began.Add(c.asked))
				n.workers.Wait()
				require.Equal(t, !c.ended, e.alive["r"])
				require.True(t, e.alive["s"], "nobody said that it is held here")
				_, known := n.residents["r"]
				require.Equal(t, !c.ended, known)
				n.dropResident("unknown")
				n.loseResident("unknown")
				n.workers.Wait()
				require.True(t, e.alive["s"])
			})
		})
	}
}
