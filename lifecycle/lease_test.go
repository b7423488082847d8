package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

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

func (f forgetful) Renew(ctx context.Context, id string, now time.Time) ([]store.Hold, error) {
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
	done, _ := r.Drain()
	return Recovery(done), err
}

// TestRecoverRenewsTheLeaseOfItsOwnNode: E3, a node that sees its own lease over, as after a sleep
// of its machine, keeps it if nobody has taken it, and takes over from those that are silent.
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

// TestServeReturnsNilIfTheLeaseIsLostAtItsEnd: who is told to end, and taken over in the same
// moment, has ended well.
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

// TestLostLeaseEndsCommitsThatCannotBeStored: E3, a claim may be the first to hear that the lease
// is lost. A worker that tries to store its turn then stops trying, though the store never tells it
// so; the node joins again, and can be stopped.
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

// E3: a node that has lost its lease tries to join again, once a poll, as long as the store is
// away, and then goes on. It can be stopped meanwhile.
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

// alone is a node of which nothing goes on yet.
func alone(tb testing.TB, s store.Store, e engine.Engine) *membership {
	tb.Helper()
	lc := &Lifecycle{Client: clientOf(tb, s), cfg: Config{Lease: 12 * time.Second}, permits: semaphore.NewWeighted(8)}
	lc.proc.Engines = map[string]engine.Engine{DefaultEngine: e}
	n := &membership{
		Lifecycle: lc, id: "n", wakeup: make(chan struct{}, 1), leavingCh: make(chan struct{}),
		turns: make(map[string]*turn), residents: make(map[string]resident), unexecuted: make(map[store.Hold]bool),
		ended: make(map[string]endedTurn), endedBefore: make(map[string]endedTurn),
	}
	n.live, n.die = context.WithCancelCause(tb.Context())
	n.endCtx, n.cancelEnd = context.WithCancel(tb.Context())
	return n
}

// TestCompareHoldsInterruptsTurnsOfOtherEpochs: E3, what the store says is held is compared with
// what executes: a run that is not held here, or is held for another attempt, is not executed here
// any more. A claim needs time to be known, a third of a lease at most; what started after the
// store was asked is not in its answer.
func TestCompareHoldsInterruptsTurnsOfOtherEpochs(t *testing.T) {
	const third = 4 * time.Second
	of := func(epoch uint64) []store.Hold {
		return []store.Hold{{RunID: "other", Epoch: 7, State: fsm.StateRunning}, {RunID: "r", Epoch: epoch,
			State: fsm.StateRunning}}
	}
	for name, c := range map[string]struct {
		held   []store.Hold
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
				executing := &turn{node: n, epoch: 2, started: start, ctx: ctx, cancel: cancel}
				defer executing.engineReturn.signal()
				n.turns["r"] = executing
				time.Sleep(c.lasted) // the bubble's time
				n.compareHolds(c.held, start.Add(c.asked))
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
				e := &living{alive: map[string]bool{"r": true, "s": true}}
				n := alone(t, newStore(t), e)
				defer n.die(nil)
				start := time.Now()
				n.holdResident("r", DefaultEngine)
				n.leaving = c.leaving
				if c.turn {
					ctx, cancel := context.WithCancelCause(n.live)
					executing := &turn{node: n, epoch: 1, started: start, ctx: ctx, cancel: cancel}
					defer executing.engineReturn.signal()
					n.turns["r"] = executing
				}
				var held []store.Hold
				if c.held {
					held = []store.Hold{{RunID: "r", Epoch: 1, State: fsm.StateWaitingUser}}
				}
				n.compareHolds(held, start.Add(c.asked))
				n.workers.Wait()
				require.Equal(t, !c.ended, e.alive["r"])
				require.True(t, e.alive["s"], "nobody said that it is held here")
				_, known := n.residents["r"]
				require.Equal(t, !c.ended, known)
				n.endResidentOfEndedRun("unknown")
				n.endResidentAfterTurn("unknown")
				n.workers.Wait()
				require.True(t, e.alive["s"])
			})
		})
	}
}

// TestSettleUnexecutedStartsOnlyARunHeldHere: I2, a run that is held here without a worker is seen
// to as it is by then: executed when its claim was not acknowledged, and left alone when it is not
// held here any more, or cannot be read, or there is no room.
func TestSettleUnexecutedStartsOnlyARunHeldHere(t *testing.T) {
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
				n.proc.Log, n.leaving = slog.New(log), c.leaving
				if c.full {
					require.True(t, n.permits.TryAcquire(8))
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				n.settleUnexecuted(ctx, store.Hold{RunID: "held", Epoch: 1, State: fsm.StateRunning})
				synctest.Wait()
				require.Equal(t, c.starts, len(started) == 1)
				lines := log.logged()
				require.Equal(t, c.starts, len(lines) > 0 && lines[0] == "WARN starting a turn whose claim "+
					"was not acknowledged")
				if !c.full {
					require.True(t, n.permits.TryAcquire(8), "no room is kept for what does not execute")
				}
				n.die(nil)
				close(n.leavingCh)
				n.workers.Wait()
			})
		})
	}
}
