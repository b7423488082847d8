package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// parksMany serves until so many runs are parked, and ends in good order. The ids are r0000 and so
// on.
func parksMany(t *testing.T, s store.Store, n int) {
	t.Helper()
	lc, stop := serveBeside(t, Config{Store: s, Engine: asksOnce()})
	for i := range n {
		_, err := lc.Submit(t.Context(), Spec{ID: fmt.Sprintf("r%04d", i), Prompt: "x"})
		require.NoError(t, err)
	}
	synctest.Wait()
	stop()
}

// TestJ7NothingIsWrittenForParkedRuns: E1, E6, E8. A node parks runs and goes; others come, are
// stopped or killed. Every reader sees the runs as recovered, at the time at which the first node
// went, and none of the nodes commits anything for them before a reply comes.
func TestJ7NothingIsWrittenForParkedRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 1200
		s := newStore(t)
		parksMany(t, s, many)
		gone, stored := node.CommitTime(SystemClock{}), s.Counters().Commits
		for i := range 3 {
			pass(time.Minute)
			_, stop := serveBeside(t, Config{Store: s, Engine: asksOnce()})
			require.NoError(t, s.Join(t.Context(), store.Node{ID: fmt.Sprint("dies", i), Lease: time.Second},
				time.Now()))
			pass(time.Minute)
			stop()
		}
		require.Equal(t, stored, s.Counters().Commits)

		c := clientOf(t, s)
		done, err := c.Recover(t.Context())
		require.NoError(t, err)
		require.Zero(t, done)
		read := 0
		for q := (store.WaitingQuery{Query: Query{Limit: 500}}); ; {
			page, err := s.Waiting(t.Context(), q)
			require.NoError(t, err)
			for _, run := range page.Runs {
				read++
				require.Equal(t, store.RecoveredWaiting, run.Recovery)
				require.Equal(t, gone, run.RecoveredAt, "the same, whoever reads it and whenever")
				require.Equal(t, store.PreservedReason, run.RecoveryReason)
				require.EqualValues(t, 3, run.Version)
			}
			if q.After = page.Next; page.Next == "" {
				break
			}
		}
		require.Equal(t, many, read)

		_, stop := serve(t, Config{Store: s, Engine: asksOnce()})
		_, err = c.Reply(t.Context(), "r0007", interaction.Reply{ID: 1, Text: "yes"})
		require.NoError(t, err)
		synctest.Wait()
		run := in(t, c, "r0007", fsm.StateSucceeded)
		require.Equal(t, store.RecoveredWaiting, run.Recovery)
		require.Equal(t, gone, run.RecoveredAt)
		require.NoError(t, c.Cancel(t.Context(), "r0008", "no longer needed"))
		require.Equal(t, gone, in(t, c, "r0008", fsm.StateCanceled).RecoveredAt)
		stop()
	})
}

// TestJ7BesideNodesOfAnOlderRelease: E1, E6. A node of an older release takes other nodes' waits
// over under its own name, and leaves no departure when it goes. The next node recovers them, and
// they are never orphans.
func TestJ7BesideNodesOfAnOlderRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		parksMany(t, s, 2)
		c := clientOf(t, s)
		run, err := c.Get(t.Context(), "r0000")
		require.NoError(t, err)
		adopted := store.Commit{Run: run, Expect: run.Version}
		adopted.Run.Version++
		adopted.Run.UpdatedAt = node.CommitTime(SystemClock{})
		adopted.Run.Owner, adopted.Run.RecoveredAt = "old", adopted.Run.UpdatedAt
		require.NoError(t, s.Commit(t.Context(), []store.Commit{adopted})[0])
		pass(time.Minute)
		_, stop := serve(t, Config{Store: s, Engine: asksOnce()})
		departures, err := s.Departures(t.Context())
		require.NoError(t, err)
		require.Len(t, departures, 2)
		require.Equal(t, node.CommitTime(SystemClock{}), in(t, c, "r0000", fsm.StateWaitingUser).RecoveredAt)
		for _, id := range []string{"r0000", "r0001"} {
			_, err := c.Reply(t.Context(), id, interaction.Reply{ID: 1, Text: "yes"})
			require.NoError(t, err)
		}
		synctest.Wait()
		in(t, c, "r0000", fsm.StateSucceeded)
		in(t, c, "r0001", fsm.StateSucceeded)
		stop()
	})
}

// checker is an agent that judges sessions.
type checker struct {
	agent
	check func(ctx context.Context, id string) error
}

func (c checker) Check(ctx context.Context, id string, _ engine.SessionHandle) error {
	return c.check(ctx, id)
}

// checks counts the calls of a checker.
type checks struct {
	mu    sync.Mutex
	asked map[string]int // guarded by mu
}

func (c *checks) of(judge func(ctx context.Context, id string) error) checker {
	c.asked = make(map[string]int)
	return checker{asksOnce(), func(ctx context.Context, id string) error {
		c.mu.Lock()
		c.asked[id]++
		c.mu.Unlock()
		return judge(ctx, id)
	}}
}

// drain returns the number of checked runs since its last call, and the largest number of checks of
// one run.
func (c *checks) drain() (runs, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.asked {
		most = max(most, n)
	}
	runs = len(c.asked)
	clear(c.asked)
	return runs, most
}

func expiredSession(id string) error {
	return fmt.Errorf("%w: %s expired", engine.ErrHandleRefused, id)
}

// TestJ7RefusedSessionsAreFound: E2. A node checks the sessions of the runs that departed nodes
// parked, each once, in parts with pauses between them, and writes only for refused ones. The next
// node checks them again, as each start does.
func TestJ7RefusedSessionsAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 3*node.SessionBatch + 10
		s := newStore(t)
		parksMany(t, s, many)
		stored := s.Counters().Commits
		var asked checks
		e := asked.of(func(_ context.Context, id string) error {
			if id == "r0250" {
				return expiredSession(id)
			}
			return nil
		})
		lc, stop := serve(t, Config{Store: s, Engine: e})
		first, _ := asked.drain()
		require.Positive(t, first)
		require.LessOrEqual(t, first, node.SessionBatch, "others go on between the parts")
		pass(time.Minute)
		rest, most := asked.drain()
		require.Equal(t, many, first+rest)
		require.Equal(t, 1, most)
		require.Equal(t, stored+1, s.Counters().Commits)
		run := in(t, lc.Client, "r0250", fsm.StateFailed)
		require.Equal(t, fsm.CodeSessionResumeFailed, run.Error.Code)
		require.Equal(t, store.FailedReconciled, run.Recovery)
		pass(time.Hour)
		again, _ := asked.drain()
		require.Zero(t, again, "no node has gone since")
		stop()

		_, stop = serve(t, Config{Store: s, Engine: e})
		pass(time.Minute)
		again, most = asked.drain()
		require.Equal(t, []int{many - 1, 1}, []int{again, most})
		require.Equal(t, stored+1, s.Counters().Commits)
		stop()
	})
}

// TestJ7ChecksAreMadeAfterTheFirstClaim: E2, a start is not delayed by them, and a node that ends
// in the middle leaves the rest to the next one.
func TestJ7ChecksAreMadeAfterTheFirstClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below := newStore(t)
		parksMany(t, below, 2*node.SessionBatch)
		s := &slowClaims{Store: below, permit: make(chan struct{})}
		var asked checks
		e := asked.of(func(_ context.Context, id string) error { return expiredSession(id) })
		_, stop := serve(t, Config{Store: s, Engine: e})
		pass(time.Second)
		runs, _ := asked.drain()
		require.Zero(t, runs)
		close(s.permit)
		synctest.Wait()
		stop() // during the first pause
		runs, _ = asked.drain()
		require.Equal(t, node.SessionBatch, runs)

		_, stop = serve(t, Config{Store: below, Engine: e})
		pass(time.Minute)
		runs, _ = asked.drain()
		require.Equal(t, node.SessionBatch, runs)
		stats, err := below.Survey(t.Context(), time.Now())
		require.NoError(t, err)
		require.Zero(t, stats.Waiting)
		stop()
	})
}

// slowClaims is a store whose claims wait for a permit.
type slowClaims struct {
	store.Store
	permit chan struct{}
}

func (s *slowClaims) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	<-s.permit
	return s.Store.Claim(ctx, req)
}

// TestJ7ChecksThatFailAreMadeAgain: E2, J10. A refusal that the store does not accept, and an
// engine that answers late, delay no others, and the check is complete when all is stored.
func TestJ7ChecksThatFailAreMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below := newStore(t)
		parksMany(t, below, 4)
		var repaired atomic.Bool
		s := &faulty{Store: below, fail: func(_ int64, c *store.Commit) error {
			if !repaired.Load() && c.Run.ID == "r0001" {
				return errors.New("disk full")
			}
			return nil
		}}
		var asked checks
		e := asked.of(func(_ context.Context, id string) error {
			switch id {
			case "r0002":
				time.Sleep(3 * time.Second)
			case "r0003":
				return nil
			}
			return expiredSession(id)
		})
		log := &journal{}
		c, stop := serve(t, Config{Store: s, Engine: e, Lease: 15 * time.Second, Logger: slog.New(log)})
		pass(2 * time.Second)
		in(t, c.Client, "r0000", fsm.StateFailed)
		in(t, c.Client, "r0001", fsm.StateWaitingUser)
		in(t, c.Client, "r0002", fsm.StateWaitingUser)
		pass(2 * time.Second)
		in(t, c.Client, "r0002", fsm.StateFailed)
		require.Contains(t, log.logged()[0], "run r0001: disk full")
		repaired.Store(true)
		pass(10 * time.Second)
		in(t, c.Client, "r0001", fsm.StateFailed)
		in(t, c.Client, "r0003", fsm.StateWaitingUser)
		asked.drain()
		pass(time.Hour)
		runs, _ := asked.drain()
		require.Zero(t, runs)
		stop()
	})
}

// TestJ7OnlyWhatWasLeftIsChecked: E2, a node checks the runs of departed nodes, not of live ones,
// and neither writes nor logs anything if all sessions are valid. Refused ones are logged with both
// figures.
func TestJ7OnlyWhatWasLeftIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below := newStore(t)
		parksMany(t, below, 2)
		living, leave := serveBeside(t, Config{Store: below, Engine: asksOnce()})
		submit(t, living, "mine")
		synctest.Wait()
		s := &faulty{Store: below, fail: func(int64, *store.Commit) error { return nil }}
		var asked checks
		log := &journal{}
		e := asked.of(func(context.Context, string) error { return nil })
		_, stop := serveBeside(t, Config{Store: s, Engine: e, Logger: slog.New(log)})
		pass(time.Minute)
		require.Equal(t, map[string]int{"r0000": 1, "r0001": 1}, asked.asked)
		require.Zero(t, s.calls.Load())
		require.Empty(t, log.logged())
		stop()

		_, err := living.Submit(t.Context(), Spec{ID: "holds", Prompt: "x", Hold: HoldOn})
		require.NoError(t, err)
		synctest.Wait()
		leave()
		e = asked.of(func(_ context.Context, id string) error {
			if id == "holds" || id == "mine" {
				return expiredSession(id)
			}
			return nil
		})
		_, stop = serve(t, Config{Store: below, Engine: e, Logger: slog.New(log)})
		pass(10 * time.Second)
		require.Equal(t, []string{"INFO sessions of parked runs refused"}, log.logged())
		stop()
	})
}
