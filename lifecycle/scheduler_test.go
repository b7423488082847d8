package lifecycle

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// claimCounter counts the claims, and hides their report of the queue if it is silent.
type claimCounter struct {
	*memory.Store
	silent bool
	claims atomic.Int64
}

func (s *claimCounter) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	s.claims.Add(1)
	if s.silent {
		req.Drained = nil
	}
	return s.Store.Claim(ctx, req)
}

// TestSchedulerClaimsForAFreedSlotOnlyIfRunsWait: A2, a slot that becomes free is claimed for at
// once if queued runs may wait for it. A store that does not say so is asked each time.
func TestSchedulerClaimsForAFreedSlotOnlyIfRunsWait(t *testing.T) {
	for name, c := range map[string]struct {
		silent       bool
		runs, places int
		fewest, most int64 // claims
	}{
		"nobody waits":            {false, 1, 0, 1, 1},
		"nobody waits, full node": {false, 1, 1, 1, 1},
		"others wait for a slot":  {false, 3, 0, 3, 7},
		"the store does not tell": {true, 1, 0, 2, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &claimCounter{Store: newStore(t), silent: c.silent}
				require.NoError(t, s.SetPool(t.Context(), slots.Pool{Name: slots.DefaultPool, Capacity: 1}))
				lc, stop := serve(t, Config{Store: s, Engine: agent{}, Poll: time.Hour, Concurrency: c.places})
				synctest.Wait()
				before := s.claims.Load()
				var ids []string
				for range c.runs {
					run, err := lc.Submit(t.Context(), Spec{Prompt: "x"})
					require.NoError(t, err)
					ids = append(ids, run.ID)
				}
				synctest.Wait()
				for _, id := range ids {
					run, err := lc.Get(t.Context(), id)
					require.NoError(t, err)
					require.True(t, run.State.Terminal(), "nothing waits for a poll")
				}
				require.GreaterOrEqual(t, s.claims.Load()-before, c.fewest)
				require.LessOrEqual(t, s.claims.Load()-before, c.most)
				stop()
			})
		})
	}
}

// TestSchedulerClaimsUntilThereIsNoRoom: A2, one claim starts a limited number of runs. A node with
// room for more claims again at once.
func TestSchedulerClaimsUntilThereIsNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const backlog = 3*node.ClaimBatch + 1
		s := newStore(t)
		c := clientOf(t, s)
		for range backlog {
			_, err := c.Submit(t.Context(), Spec{Prompt: "x"})
			require.NoError(t, err)
		}
		done := make(chan struct{})
		e, turns := until(done)
		_, stop := serve(t, Config{Store: s, Engine: e, Concurrency: backlog, Poll: time.Hour})
		started := turns.Load()
		close(done)
		stop()
		require.EqualValues(t, backlog, started, "nothing waits for a poll")
	})
}

// TestFreedSlotIsClaimedForWithoutHints: A2, a store need not give hints: a node knows by itself
// that its own turn has ended.
func TestFreedSlotIsClaimedForWithoutHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		require.NoError(t, s.SetPool(t.Context(), slots.Pool{Name: slots.DefaultPool, Capacity: 1}))
		c := clientOf(t, s)
		for _, id := range []string{"a", "b", "c"} {
			_, err := c.Submit(t.Context(), Spec{ID: id, Prompt: "x"})
			require.NoError(t, err)
		}
		_, stop := serve(t, Config{Store: hintless{s}, Engine: agent{}, Poll: time.Hour})
		stop()
		for _, id := range []string{"a", "b", "c"} {
			in(t, c, id, fsm.StateSucceeded)
		}
	})
}

// deafClaims is a store whose claims take 0.7 seconds, and that loses the acknowledgement of the
// first claim that starts a run.
type deafClaims struct {
	store.Store
	lost atomic.Bool
}

func (s *deafClaims) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	claimed, err := s.Store.Claim(ctx, req)
	time.Sleep(700 * time.Millisecond) // in the bubble; no heartbeat is at the end of one
	if len(claimed) > 0 && s.lost.CompareAndSwap(false, true) {
		return nil, errAway
	}
	return claimed, err
}

// E5 J8: a run whose claim was not acknowledged is executed by its node, although claims, which
// reserve every free permit, are in progress at each heartbeat.
func TestUnacknowledgedClaimIsExecutedThoughOthersAreInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &deafClaims{Store: newStore(t)}
		e := agent{turn: func(context.Context, engine.Turn) (engine.Outcome, error) { return finished(), nil }}
		lc, stop := serve(t, Config{Store: s, Engine: e, Concurrency: 4, Lease: 12 * time.Second,
			Poll: time.Millisecond})
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x"})
		require.NoError(t, err)
		pass(13 * time.Second)
		require.True(t, s.lost.Load())
		in(t, lc.Client, "r", fsm.StateSucceeded)
		stop()
	})
}
