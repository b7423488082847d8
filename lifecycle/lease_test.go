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

func (c *cut) Renew(ctx context.Context, id string, now time.Time) ([]store.Hold, error) {
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

// lasting is an engine whose turns last until they are canceled, and tell when and why.
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

// TestANodeThatIsCutOffEndsItsTurns: E3, when a lease could not be renewed for its whole length,
// whatever executes under it is ended; not before, and no later than others may take over.
func TestANodeThatIsCutOffEndsItsTurns(t *testing.T) {
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
				begun := time.Now()
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
				require.Equal(t, c.ends, time.Since(begun))
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

// TestAShortOutageEndsNoTurn: a lease that is renewed in its last moment was never over.
func TestAShortOutageEndsNoTurn(t *testing.T) {
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

// TestTheStoresClockIsSetWhileANodeWorks: E3, a lease is a length of time here. A store whose clock
// jumps, over the lease or back, ends no turn of a node that it still knows; not even when it
// cannot be asked just then.
func TestTheStoresClockIsSetWhileANodeWorks(t *testing.T) {
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

func (f forgetful) Renew(ctx context.Context, id string, now time.Time) ([]store.Hold, error) {
	_, err := f.keeping.Renew(ctx, id, now)
	return nil, err
}

// TestATurnThatIsNotHeldIsEnded: E3, a third of a lease after it began, which is long enough for a
// claim to be known; whatever the store's clock says.
func TestATurnThatIsNotHeldIsEnded(t *testing.T) {
	for _, off := range []time.Duration{0, time.Hour, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			e, canceled := lasting()
			lc, stop := serve(t, Config{Store: forgetful{keeps(t, off)}, Engine: e, Lease: 12 * time.Second})
			pass(3 * time.Second)
			begun := time.Now()
			submit(t, lc, "r")
			require.ErrorIs(t, <-canceled, engine.ErrStale)
			require.Equal(t, 5*time.Second, time.Since(begun), "at the second renewal")
			stop()
		})
	}
}

// TestWhoRecoversIsNotSilent: E3, a node that sees its own lease over, as after a sleep of its
// machine, keeps it if nobody has taken it, and takes over from those that are silent.
func TestWhoRecoversIsNotSilent(t *testing.T) {
	s := newStore(t)
	c := clientOf(t, s)
	past := stamp(SystemClock{}).Add(-time.Hour)
	for _, id := range []string{"me", "other"} {
		require.NoError(t, s.Join(t.Context(), store.Node{ID: id, Lease: time.Minute}, past))
	}
	done, err := c.recover(t.Context(), "me")
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
	_, err = clientOf(t, cannot).recover(t.Context(), "me")
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

// TestServeEndsWellThoughTheLeaseIsLost: who is told to end, and taken over in the same moment, has
// ended well.
func TestServeEndsWellThoughTheLeaseIsLost(t *testing.T) {
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

// TestALostLeaseEndsWhatCannotBeStored: E3, a claim may be the first to hear that the lease is
// lost. A worker that tries to store its turn then stops trying, though the store never tells it
// so; the node joins again, and can be stopped.
func TestALostLeaseEndsWhatCannotBeStored(t *testing.T) {
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
