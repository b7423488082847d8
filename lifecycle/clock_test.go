package lifecycle

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// wrong is a machine's clock that is off, by as much as its owner says.
type wrong struct {
	SystemClock
	off atomic.Int64
}

func wrongBy(d time.Duration) *wrong {
	w := &wrong{}
	w.off.Store(int64(d))
	return w
}

func (w *wrong) Now() time.Time { return time.Now().Add(time.Duration(w.off.Load())) }

// keeping is a store with its own clock, by which it judges leases whatever time it gets.
type keeping struct {
	*memory.Store
	clock *wrong // compared with the bubble's
}

func keeps(tb testing.TB, off time.Duration) *keeping {
	tb.Helper()
	return &keeping{newStore(tb), wrongBy(off)}
}

func (k *keeping) Now() time.Time { return k.clock.Now() }

func (k *keeping) Join(ctx context.Context, n store.Node, _ time.Time) error {
	return k.Store.Join(ctx, n, k.Now())
}

func (k *keeping) Renew(ctx context.Context, id string, _ time.Time) ([]store.OwnedRun, error) {
	return k.Store.Renew(ctx, id, k.Now())
}

func (k *keeping) Expire(ctx context.Context, _ time.Time, ids ...string) ([]store.Node, error) {
	return k.Store.Expire(ctx, k.Now(), ids...)
}

// asksOnce is an engine whose first turn of each run ends with a question.
func asksOnce() agent {
	return agent{turn: func(_ context.Context, t engine.Turn) (engine.Outcome, error) {
		if len(t.Answers) > 0 {
			return finished(), nil
		}
		return engine.Outcome{
			Process:   engine.Process{Status: engine.OK},
			Questions: []interaction.Question{interaction.Baseline("Go on?")},
			Session:   &engine.SessionHandle{Engine: "agent", Data: []byte("s")},
		}, nil
	}}
}

// pass lets the bubble's time pass.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// in requires the run to be in a state, and returns it.
func in(tb testing.TB, c *Client, id string, state fsm.State) Run {
	tb.Helper()
	run, err := c.Get(tb.Context(), id)
	require.NoError(tb, err)
	require.Equal(tb, state, run.State, "%+v", run.Error)
	return run
}

// TestStoreClockIsTheDefault: D2, a host's writes and waits follow the clock of a store that has
// one, however wrong the machine's clock.
func TestStoreClockIsTheDefault(t *testing.T) {
	for _, off := range []time.Duration{0, time.Hour, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := keeps(t, off)
			lc, stop := serve(t, Config{Store: s, Engine: asksOnce()})
			submitted := s.Now()
			run, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", AutoDecide: true,
				NotBefore: submitted.Add(10 * time.Minute)})
			require.NoError(t, err)
			require.True(t, submitted.Equal(run.CreatedAt))

			pass(10*time.Minute - time.Microsecond)
			in(t, lc.Client, "r", fsm.StateQueued)
			pass(time.Microsecond)
			run = in(t, lc.Client, "r", fsm.StateWaitingUser)
			require.True(t, s.Now().Equal(run.Open[0].AskedAt))
			require.True(t, s.Now().Add(DefaultSessionTimeout).Equal(run.Deadline))

			pass(DefaultSessionTimeout - time.Microsecond)
			in(t, lc.Client, "r", fsm.StateWaitingUser)
			stats, err := lc.Stats(t.Context())
			require.NoError(t, err)
			require.Zero(t, stats.Due)
			pass(time.Microsecond)
			run = in(t, lc.Client, "r", fsm.StateSucceeded)
			require.True(t, s.Now().Equal(run.FinishedAt))

			var last fcmp.Event
			for event, err := range lc.Events(t.Context(), "r", 0) {
				require.NoError(t, err)
				require.False(t, event.TS.Before(submitted))
				last = event
			}
			require.True(t, s.Now().Equal(last.TS))
			stop()
		})
	}
}

// TestDeadlineFiresByTheStoresClock: D2, if nodes whose machines disagree share a store with a
// clock, no deadline fires early or late, and no live node is taken over.
func TestDeadlineFiresByTheStoresClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := keeps(t, 20*time.Minute)
		ahead, stopAhead := serveBeside(t, Config{Store: s, Engine: asksOnce(),
			Clock: node.StoreClock{Store: s, Machine: wrongBy(time.Hour)}})
		behind, stopBehind := serveBeside(t, Config{Store: s, Engine: asksOnce(),
			Clock: node.StoreClock{Store: s, Machine: wrongBy(-time.Hour)}})
		before, err := s.Nodes(t.Context())
		require.NoError(t, err)
		require.Len(t, before, 2)
		for id, lc := range map[string]*Lifecycle{"a": ahead, "b": behind} {
			_, err := lc.Submit(t.Context(), Spec{ID: id, Prompt: "x", AutoDecide: true})
			require.NoError(t, err)
		}
		synctest.Wait()
		pass(DefaultSessionTimeout - time.Microsecond)
		for _, id := range []string{"a", "b"} {
			in(t, ahead.Client, id, fsm.StateWaitingUser)
		}
		pass(time.Microsecond)
		for _, id := range []string{"a", "b"} {
			in(t, ahead.Client, id, fsm.StateSucceeded)
		}
		after, err := s.Nodes(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{before[0].ID, before[1].ID}, []string{after[0].ID, after[1].ID})
		stopAhead()
		stopBehind()
	})
}

// TestConfigClockIsUsed: deadlines follow it even if the store has a clock; leases do not: a node
// with a wrong clock takes over from every silent node and from no live one.
func TestConfigClockIsUsed(t *testing.T) {
	for _, off := range []time.Duration{time.Hour, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := keeps(t, 0)
			_, stopRight := serveBeside(t, Config{Store: s, Engine: asksOnce()})
			clock := wrongBy(off)
			lc, stop := serveBeside(t, Config{Store: s, Engine: asksOnce(), Clock: clock})
			run, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x"})
			require.NoError(t, err)
			require.True(t, clock.Now().Equal(run.CreatedAt))

			require.NoError(t, s.Join(t.Context(), store.Node{ID: "silent", Lease: 15 * time.Second}, time.Time{}))
			registered := func() (ids []string) {
				nodes, err := s.Nodes(t.Context())
				require.NoError(t, err)
				for _, n := range nodes {
					ids = append(ids, n.ID)
				}
				return ids
			}
			all := registered()
			require.Len(t, all, 3)
			stopRight()
			pass(15 * time.Second)
			require.Contains(t, registered(), "silent", "its lease has just ended")
			pass(15 * time.Second)
			require.Len(t, registered(), 1)
			require.Subset(t, all, registered(), "the node itself is the one that it was")
			require.NotContains(t, registered(), "silent")
			stop()
		})
	}
}

// looked counts the queries for due runs.
type looked struct {
	store.Store
	looks atomic.Int64
}

func (c *looked) Due(ctx context.Context, now time.Time, limit int) ([]Run, time.Time, error) {
	c.looks.Add(1)
	return c.Store.Due(ctx, now, limit)
}

// TestPollIsNotDelayedByAClockThatIsSetBack: D2, a node that sleeps until a deadline looks again
// within a poll, whatever became of its clock.
func TestPollIsNotDelayedByAClockThatIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &looked{Store: newStore(t)}
		clock := wrongBy(0)
		lc, stop := serve(t, Config{Store: s, Engine: asksOnce(), Clock: clock, Lease: 2 * time.Hour})
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", NotBefore: clock.Now().Add(time.Minute)})
		require.NoError(t, err)
		pass(59*time.Second + 500*time.Millisecond)
		clock.off.Store(-int64(time.Hour))
		before := s.looks.Load()
		pass(10 * time.Second)
		require.GreaterOrEqual(t, s.looks.Load()-before, int64(10))
		in(t, lc.Client, "r", fsm.StateQueued)
		clock.off.Store(0)
		pass(time.Second)
		in(t, lc.Client, "r", fsm.StateWaitingUser)
		stop()
	})
}

// TestReplyTimeIsNotBeforeItsQuestion: C7, F3, F8, a reply taken by a process whose clock
// lags behind is accepted at the earliest when the question was asked, in the event, the receipt
// and the history, and the checker says the same of every time in the log.
func TestReplyTimeIsNotBeforeItsQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t)
		lc, stop := serve(t, Config{Store: st, Engine: asksOnce()})
		behind, err := NewClient(ClientConfig{Store: st, Clock: wrongBy(-time.Hour)})
		require.NoError(t, err)
		defer behind.Close()
		submit(t, lc, "r")
		pass(time.Second)
		asked := in(t, lc.Client, "r", fsm.StateWaitingUser).Open[0].AskedAt
		receipt, err := behind.Reply(t.Context(), "r", interaction.Reply{ID: 1, Text: "yes", Key: "k"})
		require.NoError(t, err)
		require.Equal(t, asked, receipt.AcceptedAt)
		pass(time.Second)
		in(t, lc.Client, "r", fsm.StateSucceeded)
		_, records, err := store.ReadHistory(t.Context(), st, "r")
		require.NoError(t, err)
		require.Equal(t, asked, records[0].ResolvedAt)

		stored, err := st.Events(t.Context(), "r", 0, 100)
		require.NoError(t, err)
		checker := audit.NewChecker()
		for _, e := range stored {
			require.Empty(t, checker.Line(e.Body))
		}
		require.Empty(t, checker.Close())
		stop()
	})
}
