package lifecycle

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// cut is a store that a node is cut off from, as far as its lease goes: asked to renew it, the
// store refuses, or never answers.
type cut struct {
	store.Store
	off    atomic.Bool
	silent bool
	asked  atomic.Int64
}

func (c *cut) Renew(ctx context.Context, id string, now time.Time) ([]store.OwnedRun, error) {
	c.asked.Add(1)
	switch {
	case !c.off.Load():
		return c.Store.Renew(ctx, id, now)
	case c.silent:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, errors.New("connection refused")
}

// lasting is an engine whose turns last until they are canceled, and report when and why.
func lasting() (agent, <-chan error) {
	canceled := make(chan error, 1)
	return agent{turn: func(ctx context.Context, _ engine.Turn) (engine.Outcome, error) {
		<-ctx.Done()
		canceled <- context.Cause(ctx)
		return engine.Outcome{}, context.Cause(ctx)
	}}, canceled
}

// until is an engine whose turns last until done is closed, or they are canceled; it counts them.
func until(done <-chan struct{}) (e agent, turns *atomic.Int64) {
	turns = new(atomic.Int64)
	return agent{turn: func(ctx context.Context, _ engine.Turn) (engine.Outcome, error) {
		turns.Add(1)
		select {
		case <-done:
			return finished(), nil
		case <-ctx.Done():
			return engine.Outcome{}, context.Cause(ctx)
		}
	}}, turns
}

// TestHeartbeatsInterruptTurnsOfANodeThatIsCutOff: E3. A node that cannot renew its lease cancels
// its turns when the lease has run out: not earlier, and no later than other nodes may take over
// its runs.
func TestHeartbeatsInterruptTurnsOfANodeThatIsCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		silent  bool
		leaving bool
		from    time.Duration // cut off from then on, when the lease was last renewed at ends-12s
		ends    time.Duration
	}{
		"the store refuses":                  {false, false, 9 * time.Second, 20 * time.Second},
		"the store never answers":            {true, false, 9 * time.Second, 20 * time.Second},
		"the store refuses from the start":   {false, false, 0, 12 * time.Second},
		"while the node leaves":              {false, true, 3 * time.Second, 12 * time.Second},
		"while the node leaves, in silence":  {true, true, 3 * time.Second, 12 * time.Second},
		"just when the lease is to be asked": {true, false, 4*time.Second - 1, 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				s := &cut{Store: newStore(t), silent: c.silent}
				e, canceled := lasting()
				lc, stop := serve(t, Config{Store: s, Engine: e, Lease: 12 * time.Second, Grace: time.Minute})
				submit(t, lc, "r")
				pass(c.from)
				s.off.Store(true)
				var left sync.WaitGroup
				if c.leaving {
					left.Go(stop)
				}
				require.ErrorIs(t, <-canceled, engine.ErrStale)
				require.Equal(t, c.ends, time.Since(start))
				require.LessOrEqual(t, s.asked.Load(), int64(14), "it is not asked without a pause")
				s.off.Store(false)
				if !c.leaving {
					stop()
				}
				left.Wait()
			})
		})
	}
}

// TestShortOutageInterruptsNoTurn: a lease that is renewed in its last moment was never over.
func TestShortOutageInterruptsNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &cut{Store: newStore(t)}
		done := make(chan struct{})
		e, turns := until(done)
		lc, stop := serve(t, Config{Store: s, Lease: 12 * time.Second, Engine: e})
		submit(t, lc, "r")
		for range 5 {
			s.off.Store(true)
			pass(10 * time.Second)
			s.off.Store(false)
			pass(5 * time.Second)
		}
		close(done)
		synctest.Wait()
		in(t, lc.Client, "r", fsm.StateSucceeded)
		require.EqualValues(t, 1, turns.Load())
		stop()
	})
}

// TestLeaseHoldsWhenTheStoresClockIsSet: E3, a lease is a length of time here. A store whose clock
// jumps, over the lease or back, ends no turn of a node that it still knows; not even when it
// cannot be asked just then.
func TestLeaseHoldsWhenTheStoresClockIsSet(t *testing.T) {
	for name, jump := range map[string]time.Duration{"ahead": time.Hour, "back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := keeps(t, 0)
				s := &struct {
					*cut
					store.Timekeeper
				}{&cut{Store: k}, k}
				done := make(chan struct{})
				e, turns := until(done)
				lc, stop := serve(t, Config{Store: s, Lease: 12 * time.Second, Engine: e})
				submit(t, lc, "r")
				pass(5 * time.Second)
				s.off.Store(true)
				k.clock.off.Store(int64(jump))
				pass(6 * time.Second)
				s.off.Store(false)
				pass(time.Minute)
				close(done)
				synctest.Wait()
				in(t, lc.Client, "r", fsm.StateSucceeded)
				require.EqualValues(t, 1, turns.Load())
				stop()
			})
		})
	}
}

// forgetful is a store that says that a node holds nothing.
type forgetful struct{ *keeping }

func (f forgetful) Renew(ctx context.Context, id string, now time.Time) ([]store.OwnedRun, error) {
	_, err := f.keeping.Renew(ctx, id, now)
	return nil, err
}

// TestHeartbeatInterruptsATurnThatIsNotHeld: E3, a third of a lease after it started, which is long
// enough for a claim to be known; whatever the store's clock says.
func TestHeartbeatInterruptsATurnThatIsNotHeld(t *testing.T) {
	for _, off := range []time.Duration{0, time.Hour, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			e, canceled := lasting()
			lc, stop := serve(t, Config{Store: forgetful{keeps(t, off)}, Engine: e, Lease: 12 * time.Second})
			pass(3 * time.Second)
			start := time.Now()
			submit(t, lc, "r")
			require.ErrorIs(t, <-canceled, engine.ErrStale)
			require.Equal(t, 5*time.Second, time.Since(start), "at the second renewal")
			stop()
		})
	}
}

// recoverAs makes one recovery pass of the node.
func recoverAs(tb testing.TB, c *Client, node string) (Recovery, error) {
	tb.Helper()
	r := c.proc.NewRecoverer(tb.Context(), node, nil)
	err := r.Pass(tb.Context())
	r.Wait()
	done, _ := r.TakeResults()
	return Recovery(done), err
}

// TestRecoverRenewsTheLeaseOfItsOwnNode: E3, a node that finds its lease expired, as after a sleep
// of its machine, keeps it if it was not taken, and takes over from silent nodes.
func TestRecoverRenewsTheLeaseOfItsOwnNode(t *testing.T) {
	s := newStore(t)
	c := clientOf(t, s)
	past := node.CommitTime(SystemClock{}).Add(-time.Hour)
	for _, id := range []string{"me", "other"} {
		require.NoError(t, s.Join(t.Context(), store.Node{ID: id, Lease: time.Minute}, past))
	}
	done, err := recoverAs(t, c, "me")
	require.NoError(t, err)
	require.Equal(t, Recovery{Nodes: 1}, done)
	nodes, err := s.Nodes(t.Context())
	require.NoError(t, err)
	require.Len(t, nodes, 1)
	require.Equal(t, "me", nodes[0].ID)
	require.True(t, nodes[0].Until.After(time.Now()))

	cannot := &cut{Store: s}
	cannot.off.Store(true)
	_, err = s.Renew(t.Context(), "me", past)
	require.NoError(t, err)
	_, err = recoverAs(t, clientOf(t, cannot), "me")
	require.ErrorContains(t, err, "connection refused", "it does not take the lease from itself")
	nodes, err = s.Nodes(t.Context())
	require.NoError(t, err)
	require.Len(t, nodes, 1)
}

// leavingLate is a store that ends the node's Serve, and then its lease.
type leavingLate struct {
	store.Store
	end context.CancelFunc
}

func (s leavingLate) Claim(context.Context, store.ClaimRequest) ([]store.Claimed, error) {
	s.end()
	return nil, store.ErrStaleEpoch
}

// TestServeReturnsNilIfTheLeaseIsLostAtItsEnd: a node that is stopped and taken over at the same
// moment has ended well.
func TestServeReturnsNilIfTheLeaseIsLostAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		e, _ := lasting()
		lc, err := New(Config{Store: leavingLate{newStore(t), cancel}, Engine: e})
		require.NoError(t, err)
		require.NoError(t, lc.Serve(ctx))
	})
}

// takenOver is a store that has given the node's lease to others, once, and out of order for all
// that is to be stored.
type takenOver struct {
	store.Store
	joined atomic.Int64
	over   atomic.Bool
}

func (s *takenOver) Join(ctx context.Context, n store.Node, now time.Time) error {
	s.joined.Add(1)
	return s.Store.Join(ctx, n, now)
}

func (s *takenOver) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	if s.over.Load() && s.joined.Load() == 1 {
		return nil, store.ErrStaleEpoch
	}
	return s.Store.Claim(ctx, req)
}

func (s *takenOver) Commit(ctx context.Context, batch []store.Commit) []error {
	if s.over.Load() {
		return []error{errors.New("connection refused")}
	}
	return s.Store.Commit(ctx, batch)
}

// TestLostLeaseEndsCommitsThatCannotBeStored: E3, a claim may be the first to detect the lost
// lease. A worker that tries to store its turn then stops trying, though the store never reports
// it; the node joins again, and can be stopped.
func TestLostLeaseEndsCommitsThatCannotBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &takenOver{Store: newStore(t)}
		done := make(chan struct{})
		e, turns := until(done)
		lc, stop := serve(t, Config{Store: s, Engine: e, Lease: time.Hour})
		submit(t, lc, "r")
		pass(2 * time.Second)
		require.EqualValues(t, 1, turns.Load())
		s.over.Store(true)
		close(done)
		pass(10 * time.Second)
		require.EqualValues(t, 2, s.joined.Load())
		stop()
	})
}

// lockedOut is a store that has given the node's lease to others, and can then not be joined for a
// while.
type lockedOut struct {
	store.Store
	over     atomic.Bool
	refusals int

	mu    sync.Mutex
	joins []time.Time // guarded by mu
}

func (s *lockedOut) Join(ctx context.Context, n store.Node, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joins = append(s.joins, time.Now())
	if tries := len(s.joins); tries > 1 && tries <= 1+s.refusals {
		return errors.New("connection refused")
	}
	return s.Store.Join(ctx, n, now)
}

func (s *lockedOut) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	s.mu.Lock()
	lost := s.over.Load() && len(s.joins) == 1
	s.mu.Unlock()
	if lost {
		return nil, store.ErrStaleEpoch
	}
	return s.Store.Claim(ctx, req)
}

// E3: a node that has lost its lease tries to rejoin, once a poll, while the store is away, and
// then continues. It can be stopped during that.
func TestRejoinTriesOncePerPoll(t *testing.T) {
	const poll = 3 * time.Second
	for name, refusals := range map[string]int{"the store comes back": 2, "it stays away": 1000} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &lockedOut{Store: newStore(t), refusals: refusals}
				lc, stop := serve(t, Config{Store: s, Engine: agent{}, Poll: poll})
				s.over.Store(true)
				pass(10 * poll)
				submitted(t, clientOf(t, s.Store), "r", 1)
				pass(poll)
				if refusals == 2 {
					in(t, lc.Client, "r", fsm.StateSucceeded)
				} else {
					in(t, lc.Client, "r", fsm.StateQueued)
				}
				stop()
				for i, at := range s.joins[2:] {
					require.Equal(t, poll, at.Sub(s.joins[i+1]))
				}
				require.Equal(t, refusals == 2, len(s.joins) == 4, "%d joins", len(s.joins))
			})
		})
	}
}
