package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

var errKilled = errors.New("the process is dead")

// killable is a process on a store: once it is dead, nothing that it does reaches the store.
type killable struct {
	store.Store
	dead context.Context //nolint:containedctx // of the process, which ends with it
	kill context.CancelFunc
}

func (m *killable) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	if m.dead.Err() != nil {
		return nil, errKilled
	}
	return m.Store.Claim(ctx, req)
}

func (m *killable) Commit(ctx context.Context, batch []store.Commit) []error {
	if m.dead.Err() == nil {
		return m.Store.Commit(ctx, batch)
	}
	errs := make([]error, len(batch))
	for i := range errs {
		errs[i] = errKilled
	}
	return errs
}

func (m *killable) Renew(ctx context.Context, id string, now time.Time) ([]store.OwnedRun, error) {
	if m.dead.Err() != nil {
		return nil, errKilled
	}
	return m.Store.Renew(ctx, id, now)
}

func (m *killable) Expire(ctx context.Context, now time.Time, ids ...string) ([]store.Node, error) {
	if m.dead.Err() != nil {
		return nil, errKilled
	}
	return m.Store.Expire(ctx, now, ids...)
}

// fleet are processes that are started again whenever they die.
type fleet struct {
	store       store.Store
	concurrency int
	turn        func(p *killable, t engine.Turn) // then the turn ends well, unless its process is dead
	all         sync.WaitGroup

	mu    sync.Mutex
	kills int // guarded by mu
}

func (m *fleet) serve(t *testing.T, ctx context.Context) {
	for ctx.Err() == nil {
		m.serveOnce(t, ctx)
	}
}

func (m *fleet) serveOnce(t *testing.T, ctx context.Context) {
	dead, kill := context.WithCancel(ctx)
	p := &killable{m.store, dead, kill}
	lc, err := New(Config{Store: p, Concurrency: m.concurrency, Forgiving: true, Grace: -1,
		Logger: slog.New(slog.DiscardHandler),
		Engine: engine.Func(func(_ context.Context, turn engine.Turn, _ engine.Sink) (engine.Outcome, error) {
			m.turn(p, turn)
			return engine.Done("done"), nil
		})})
	if err != nil {
		t.Error(err)
		return
	}
	m.all.Go(func() { _ = lc.Serve(dead) }) // a dead process tries for a while to leave
	<-dead.Done()
	if ctx.Err() == nil {
		m.mu.Lock()
		m.kills++
		m.mu.Unlock()
	}
}

// J3: a run that takes its process down after 50 ms has healthy neighbors, which take 300 ms. They
// all succeed, on one node and on three, however many turns a node executes at a time, and the run
// fails after the usual number of repeats.
func TestJ3APoisonRunTakesNoNeighborsDown(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		for _, concurrency := range []int{1, 4, 16} {
			for _, limit := range []int{0, 1, 2} {
				name := fmt.Sprintf("%d nodes/concurrency %d/max repeats %d", nodes, concurrency, limit)
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { poison(t, nodes, concurrency, limit) })
				})
			}
		}
	}
}

func poison(t *testing.T, nodes, concurrency, limit int) {
	ctx, stop := context.WithCancel(t.Context())
	m := &fleet{store: newStore(t), concurrency: concurrency, turn: func(p *killable, turn engine.Turn) {
		if turn.RunID == "a-poison" {
			time.Sleep(50 * time.Millisecond)
			p.kill()
			return
		}
		time.Sleep(300 * time.Millisecond)
	}}
	c, err := NewClient(ClientConfig{Store: m.store})
	require.NoError(t, err)
	ids := []string{"a-poison"}
	for i := range 3 * concurrency {
		ids = append(ids, fmt.Sprint("healthy-", i))
	}
	for _, id := range ids {
		_, err := c.Submit(ctx, Spec{ID: id, Prompt: "x", Repeatable: true, MaxRepeats: limit})
		require.NoError(t, err)
	}
	for range nodes {
		m.all.Go(func() { m.serve(t, ctx) })
	}
	for _, id := range ids {
		run, err := c.Wait(ctx, id)
		require.NoError(t, err)
		if id != "a-poison" {
			require.Equal(t, fsm.StateSucceeded, run.State, "%s: %v", id, run.Error)
			continue
		}
		require.Equal(t, fsm.CodeTurnRepeatLimitExceeded, run.Error.Code)
	}
	m.mu.Lock()
	require.Equal(t, 1+max(limit, DefaultMaxRepeats*(1-min(limit, 1))), m.kills)
	m.mu.Unlock()
	stop()
	m.all.Wait()
}

// suspect submits a run whose node was lost twice in a row.
func suspect(t *testing.T, s store.Store) string {
	t.Helper()
	id := orphaned(t, s, 1, func(spec *Spec) { spec.Repeatable = true })[0]
	run, err := s.Run(t.Context(), id)
	require.NoError(t, err)
	run.Repeats, run.Losses = 1, 1
	cm, err := decide.Orphan(&run, &decide.OrphanEvidence{At: node.CommitTime(SystemClock{})}, decide.HostDefaults{})
	require.NoError(t, err)
	require.NoError(t, s.Commit(t.Context(), []store.Commit{*cm})[0])
	require.True(t, cm.Run.Suspect())
	return id
}

// J3: while a suspect executes, its node claims nothing else, for the length of a lease.
func TestJ3ASuspectThatOutlivesALeaseHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		id := suspect(t, s)
		var mu sync.Mutex
		started := map[string]time.Time{} // guarded by mu
		startOf := func(id string) time.Time {
			mu.Lock()
			defer mu.Unlock()
			return started[id]
		}
		release := make(chan struct{})
		n, stop := serving(t, Config{Store: s, Lease: 10 * time.Second,
			Engine: engine.Func(func(_ context.Context, turn engine.Turn, _ engine.Sink) (engine.Outcome, error) {
				mu.Lock()
				started[turn.RunID] = time.Now()
				mu.Unlock()
				if turn.RunID == id {
					<-release
				}
				return engine.Done("done"), nil
			})})
		time.Sleep(5 * time.Second)
		require.False(t, startOf(id).IsZero())
		_, err := n.Submit(t.Context(), Spec{ID: "other", Prompt: "x"})
		require.NoError(t, err)
		run, err := n.Wait(t.Context(), "other")
		require.NoError(t, err)
		require.Equal(t, fsm.StateSucceeded, run.State)
		waited := startOf("other").Sub(startOf(id))
		require.GreaterOrEqual(t, waited, 10*time.Second)
		require.LessOrEqual(t, waited, 12*time.Second)
		close(release)
		run, err = n.Wait(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, fsm.StateSucceeded, run.State)
		stop()
	})
}

// J3: a suspect comes to its turn on a node that always has other runs to execute, and it executes
// without them.
func TestJ3ASuspectIsExecutedOnABusyNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		id := suspect(t, s)
		var mu sync.Mutex
		executing, worst := 0, 0
		n, stop := serving(t, Config{Store: s, Concurrency: 4, Lease: 10 * time.Second,
			Engine: engine.Func(func(_ context.Context, turn engine.Turn, _ engine.Sink) (engine.Outcome, error) {
				mu.Lock()
				executing++
				mu.Unlock()
				for range 10 {
					time.Sleep(70 * time.Millisecond)
					mu.Lock()
					if turn.RunID == id {
						worst = max(worst, executing)
					}
					mu.Unlock()
				}
				mu.Lock()
				executing--
				mu.Unlock()
				return engine.Done("done"), nil
			})})
		for i := range 2000 {
			_, err := n.Submit(t.Context(), Spec{ID: fmt.Sprint("other-", i), Prompt: "x"})
			require.NoError(t, err)
		}
		run, err := n.Wait(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, fsm.StateSucceeded, run.State)
		survey, err := s.Survey(t.Context(), time.Now())
		require.NoError(t, err)
		require.Greater(t, survey.Ready, 1000, "it was executed before the others ran out")
		require.Equal(t, 1, worst)
		stop()
	})
}
