package lifecycle

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/internal/procid"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// onMachine is a store.Local as one process of the machine has it. Each process has another
// identity, though all of them are this one.
type onMachine struct {
	*memory.Store
	identity string
	full     atomic.Bool   // nothing can be written
	lag      time.Duration // how far the process's clock lags
	joined   chan string
}

var errDiskFull = errors.New("no space left on device")

// process returns the store as a living process has it that is not this one.
func process(tb testing.TB, s *memory.Store) *onMachine {
	tb.Helper()
	identity, err := procid.Of(os.Getppid())
	require.NoError(tb, err)
	return &onMachine{Store: s, identity: identity, joined: make(chan string, 10)}
}

func (m *onMachine) written() error {
	if m.full.Load() {
		return errDiskFull
	}
	return nil
}

func (m *onMachine) Join(ctx context.Context, n store.Node, now time.Time) error {
	n.Identity = m.identity
	m.joined <- n.ID
	return errors.Join(m.written(), m.Store.Join(ctx, n, now.Add(-m.lag)))
}

func (m *onMachine) Renew(ctx context.Context, id string, now time.Time) ([]store.OwnedRun, error) {
	if err := m.written(); err != nil {
		return nil, err
	}
	return m.Store.Renew(ctx, id, now.Add(-m.lag))
}

func (m *onMachine) ExpireSilent(ctx context.Context, now time.Time, nodes []store.Node) ([]store.Node, error) {
	if err := m.written(); err != nil {
		return nil, err
	}
	return m.Store.ExpireSilent(ctx, now, nodes)
}

func (m *onMachine) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	if err := m.written(); err != nil {
		return nil, err
	}
	return m.Store.Claim(ctx, req)
}

func (m *onMachine) Commit(ctx context.Context, batch []store.Commit) []error {
	if m.full.Load() {
		errs := make([]error, len(batch))
		for i := range errs {
			errs[i] = errDiskFull
		}
		return errs
	}
	return m.Store.Commit(ctx, batch)
}

// executions reports when turns begin and why they end early.
type executions struct {
	done chan struct{}

	mu    sync.Mutex
	begun []time.Time // guarded by mu
	ended []time.Time // guarded by mu; the interrupted ones
}

func (e *executions) agent() agent {
	return agent{turn: func(ctx context.Context, _ engine.Turn) (engine.Outcome, error) {
		e.mu.Lock()
		e.begun = append(e.begun, time.Now())
		e.mu.Unlock()
		select {
		case <-e.done:
			return finished(), nil
		case <-ctx.Done():
			e.mu.Lock()
			e.ended = append(e.ended, time.Now())
			e.mu.Unlock()
			return engine.Outcome{}, context.Cause(ctx)
		}
	}}
}

const machineLease = 12 * time.Second

// TestOutageOfTheWholeMachineInterruptsNoTurn: E3 J9, no process on the machine can write, for
// longer than a lease. The turns of all nodes continue, though one node can write before the other.
func TestOutageOfTheWholeMachineInterruptsNoTurn(t *testing.T) {
	for name, later := range map[string]time.Duration{
		"all nodes go on at one time": 0, "one node goes on first": 5 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t)
				e := &executions{done: make(chan struct{})}
				one, other := process(t, s), process(t, s)
				lc, stop := serveBeside(t, Config{Store: one, Engine: e.agent(), Lease: machineLease, Concurrency: 1})
				submit(t, lc, "a")
				pass(3 * time.Second)
				_, stopOther := serveBeside(t, Config{Store: other, Engine: e.agent(), Lease: machineLease})
				submit(t, lc, "b")
				pass(20 * time.Second)
				require.Len(t, e.begun, 2)
				for range 3 {
					one.full.Store(true)
					other.full.Store(true)
					pass(50 * time.Second)
					other.full.Store(false)
					pass(later)
					one.full.Store(false)
					pass(50 * time.Second)
				}
				close(e.done)
				pass(time.Second)
				for _, id := range []string{"a", "b"} {
					in(t, lc.Client, id, fsm.StateSucceeded)
				}
				require.Len(t, e.begun, 2)
				require.Len(t, one.joined, 1)
				require.Len(t, other.joined, 1)
				stop()
				stopOther()
			})
		})
	}
}

// TestNodeThatAloneCannotWriteIsTakenOver: E3 J9, one process cannot write while another one can:
// from the start, or when an outage of both is over for the other. Its turn ends before the other
// node starts it again, which is not later than two leases.
func TestNodeThatAloneCannotWriteIsTakenOver(t *testing.T) {
	for name, shared := range map[string]time.Duration{"from the start": 0, "after an outage of both": time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t)
				e := &executions{done: make(chan struct{})}
				one, other := process(t, s), process(t, s)
				lc, stop := serveBeside(t, Config{Store: one, Engine: e.agent(), Lease: machineLease})
				_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", Repeatable: true})
				require.NoError(t, err)
				pass(5 * time.Second)
				_, stopOther := serveBeside(t, Config{Store: other, Engine: e.agent(), Lease: machineLease})
				pass(20 * time.Second)
				one.full.Store(true)
				other.full.Store(shared > 0)
				pass(shared)
				require.Empty(t, e.ended)
				other.full.Store(false)
				alone := time.Now()
				pass(3 * machineLease)
				require.Len(t, e.ended, 1)
				require.Len(t, e.begun, 2)
				require.True(t, e.ended[0].Before(e.begun[1]), "%v %v", e.ended, e.begun)
				require.LessOrEqual(t, e.ended[0].Sub(alone), machineLease)
				require.LessOrEqual(t, e.begun[1].Sub(alone), 2*machineLease+2*time.Second) // the pause before a repeat
				one.full.Store(false)
				pass(machineLease)
				close(e.done)
				pass(time.Second)
				in(t, lc.Client, "r", fsm.StateSucceeded)
				require.Len(t, e.begun, 2)
				stop()
				stopOther()
			})
		})
	}
}

// TestSilentProcessIsTakenOver: E3 J9, a process that lives and hangs. A node that serves takes it
// over within two leases, even if the clock was set back since; a call of Recover, which has
// observed nothing, does not.
func TestSilentProcessIsTakenOver(t *testing.T) {
	for name, set := range map[string]time.Duration{
		"its lease is over": -time.Hour, "the clock was set back": 24 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t)
				hung, healthy := process(t, s), process(t, s)
				now := node.CommitTime(SystemClock{}).Add(set)
				require.NoError(t, hung.Join(t.Context(), store.Node{ID: "hung", Lease: machineLease}, now))
				c := clientOf(t, healthy)
				for range 3 {
					done, err := c.Recover(t.Context())
					require.NoError(t, err)
					require.Zero(t, done)
					pass(machineLease)
				}
				_, stop := serve(t, Config{Store: healthy, Engine: agent{}, Lease: machineLease})
				registered := func() int {
					nodes, err := s.Nodes(t.Context())
					require.NoError(t, err)
					return len(nodes)
				}
				pass(machineLease)
				require.Equal(t, 2, registered())
				pass(machineLease)
				require.Equal(t, 1, registered())
				stop()
			})
		})
	}
}

// TestRecoverKeepsTheNodeOfItsOwnProcess: E3 E6, a call of Recover in a serving process, when the
// clock was set ahead. The process's own node lives, so its turns continue.
func TestRecoverKeepsTheNodeOfItsOwnProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &executions{done: make(chan struct{})}
		own := process(t, newStore(t))
		own.identity, own.lag = procid.Self(), 24*time.Hour
		lc, stop := serveBeside(t, Config{Store: own, Engine: e.agent(), Lease: machineLease})
		submit(t, lc, "r")
		synctest.Wait()
		done, err := lc.Recover(t.Context())
		require.NoError(t, err)
		require.Zero(t, done)
		close(e.done)
		pass(machineLease)
		in(t, lc.Client, "r", fsm.StateSucceeded)
		require.Empty(t, e.ended)
		require.Len(t, own.joined, 1)
		stop()
	})
}

// TestLeapOfTheClockExpiresNoNode: E3 J9, all leases on a machine expire when its clock is set a
// day ahead. Nodes that renew theirs lose nothing; neither to each other, nor when a node leaves.
func TestLeapOfTheClockExpiresNoNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		e := &executions{done: make(chan struct{})}
		one, other := process(t, s), process(t, s)
		one.lag = 24 * time.Hour
		lc, stop := serveBeside(t, Config{Store: one, Engine: e.agent(), Lease: machineLease})
		submit(t, lc, "r")
		synctest.Wait()
		_, stopOther := serveBeside(t, Config{Store: other, Engine: e.agent(), Lease: machineLease})
		pass(5 * machineLease)
		stopOther()
		pass(machineLease)
		close(e.done)
		pass(time.Second)
		in(t, lc.Client, "r", fsm.StateSucceeded)
		require.Len(t, e.begun, 1)
		require.Len(t, one.joined, 1)
		stop()
	})
}

// R2: readiness ends with the lease, whether the store answers or not, and returns with a renewal or
// a new membership. A process that does not serve is never ready.
func TestR2ReadyFollowsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &cut{Store: newStore(t)}
		cfg := Config{Store: st, Engine: asksOnce(), Lease: 12 * time.Second}
		idle, err := New(cfg)
		require.NoError(t, err)
		t.Cleanup(idle.Close)
		require.ErrorContains(t, idle.Ready(t.Context()), "Serve does not run")
		lc, stop := serve(t, cfg)
		synctest.Wait()
		require.NoError(t, lc.Ready(t.Context()))
		st.off.Store(true)
		pass(11 * time.Second)
		require.NoError(t, lc.Ready(t.Context()), "the lease is valid")
		pass(2 * time.Second)
		require.ErrorContains(t, lc.Ready(t.Context()), "could not renew its lease")
		st.off.Store(false)
		pass(4 * time.Second)
		require.NoError(t, lc.Ready(t.Context()))
		nodes, err := lc.Nodes(t.Context())
		require.NoError(t, err)
		_, err = st.Expire(t.Context(), time.Now(), nodes[0].ID) // what another node does
		require.NoError(t, err)
		require.ErrorContains(t, lc.Ready(t.Context()), "was removed from the store")
		pass(12 * time.Second)
		require.NoError(t, lc.Ready(t.Context()), "it has joined again")
		stop()
		require.Error(t, lc.Ready(t.Context()))
	})
}
