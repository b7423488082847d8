package linear_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/proof/linear"
	"github.com/interlude-go/interlude/proof/stores"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// judgePool runs a contest and decides its history. It returns the fault.
func judgePool(tb testing.TB, spec linear.Spec, c *contest, sum *tally) string {
	tb.Helper()
	stuck := c.run()
	history := c.log.Operations()
	sum.add(history)
	switch spec.Decide(history, patience) {
	case porcupine.Ok:
		return cmp.Or(stuck, linear.Overtaken(history))
	case porcupine.Illegal:
		return "it could not have happened one call at a time"
	default:
		tb.Errorf("a history of %d calls was not decided in %s", len(history), patience)
		return ""
	}
}

// D1 D3 D5 I13: a pool and its keys never have more slots in use than their capacity, each run is
// started once, and runs are started in their order.
func TestPoolsAreLinearizable(t *testing.T) {
	for _, name := range stores.Kinds {
		t.Run(name, func(t *testing.T) {
			began, sum := time.Now(), tally{}
			spec := linear.Pool{Strict: name != "postgres"}.Spec() // its claim makes several queries: see slots.Queue
			// a claim examines all pools of its store, so a new store is made after a few contests
			const each = 25
			for s := seed(); sum.histories < max(1, *histories/4); s += each {
				t.Run(fmt.Sprint("seed ", s), func(t *testing.T) {
					handles := share(t, name, lanes)
					for i := uint64(0); i < each && sum.histories < max(1, *histories/4); i++ {
						s := s + i
						c := newContest(t, handles, s)
						if wrong := judgePool(t, spec, c, &sum); wrong != "" {
							r, err := spec.Explain(refusedDir(t), fmt.Sprintf("seed-%d-pool", s), c.log.Operations(),
								patience)
							require.NoError(t, err)
							t.Errorf("seed %d: %s: see %s and %s%s", s, wrong, r.Text, r.HTML, r.Why)
						}
					}
				})
			}
			t.Logf("%s in %s", &sum, time.Since(began).Round(time.Millisecond))
		})
	}
}

const passedOver = "who is next is passed over"

// brokenPools are bugs of claims, one in each.
var brokenPools = map[string]func() *broken{
	"claimed above the capacity": func() *broken {
		more := every(6)
		return &broken{claim: func(ctx context.Context, s store.Store, req store.ClaimRequest) ([]store.Claimed,
			error) {
			pools, err := s.Pools(ctx)
			if err != nil || len(pools) == 0 || !more() {
				return s.Claim(ctx, req)
			}
			size := pools[0].Pool
			larger := size
			larger.Capacity++
			if err := s.SetPool(ctx, larger); err != nil {
				return nil, err
			}
			claimed, err := s.Claim(ctx, req)
			return claimed, errors.Join(err, s.SetPool(ctx, size))
		}}
	},
	"the bound of a key is forgotten": func() *broken {
		return &broken{claim: func(ctx context.Context, s store.Store, req store.ClaimRequest) ([]store.Claimed,
			error) {
			pools, err := s.Pools(ctx)
			if err != nil || len(pools) == 0 {
				return nil, err
			}
			size := pools[0].Pool
			if err := s.SetPool(ctx, slots.Pool{Name: size.Name, Capacity: size.Capacity}); err != nil {
				return nil, err
			}
			claimed, err := s.Claim(ctx, req)
			return claimed, errors.Join(err, s.SetPool(ctx, size))
		}}
	},
	passedOver: func() *broken {
		return &broken{claim: func(ctx context.Context, s store.Store, req store.ClaimRequest) ([]store.Claimed,
			error) {
			first, start := true, req.Start
			req.Max++
			req.Start = func(r store.Run, spec []byte) (store.Commit, error) {
				if first {
					first = false
					return store.Commit{}, errors.New("passed over")
				}
				return start(r, spec)
			}
			claimed, _ := s.Claim(ctx, req)
			return claimed, nil
		}}
	},
	"a slot is given to nobody": func() *broken {
		none := every(5)
		return &broken{claim: func(ctx context.Context, s store.Store, req store.ClaimRequest) ([]store.Claimed,
			error) {
			if none() {
				return nil, nil
			}
			return s.Claim(ctx, req)
		}}
	},
	"a claim is answered and not stored": func() *broken {
		forgets := every(9)
		return &broken{claim: func(ctx context.Context, s store.Store, req store.ClaimRequest) ([]store.Claimed,
			error) {
			claimed, err := s.Claim(ctx, req)
			for _, c := range claimed {
				if forgets() {
					err = errors.Join(err, one(ctx, s, queuedAgain(c.Run, c.Run.QueuedAt)))
				}
			}
			return claimed, err
		}}
	},
}

// If a claim makes several queries, a run that was ready all the time must still not be overtaken,
// and the check finds a claim that does it.
func TestOvertakingIsFound(t *testing.T) {
	sum := tally{}
	for s := seed(); sum.histories < 2000; s++ {
		c := newContest(t, spoil(share(t, "memory", lanes), brokenPools[passedOver]), s)
		c.run() // another test judges the history itself
		history := c.log.Operations()
		sum.add(history)
		if wrong := linear.Overtaken(history); wrong != "" {
			t.Logf("%s, after %s", wrong, &sum)
			return
		}
	}
	t.Errorf("nobody was overtaken in %s", &sum)
}

// A run that was claimed with the slot that its process held has overtaken no one, even if it was
// ready later, before the claim returned. A run that was ready before, and was queued later, has.
func TestOvertakingIsAboutWhatWasClaimed(t *testing.T) {
	for place, overtakes := range map[linear.Place]bool{linear.Sticky: false, linear.Ready: true} {
		job := func(id string, version uint64, queued int64, place linear.Place) linear.PoolInput {
			return linear.PoolInput{Job: &linear.Job{ID: id, Version: version, Queued: queued, Place: place}}
		}
		history := []porcupine.Operation{
			{Input: job("older", 1, 18, linear.Ready), Call: 1, Output: linear.PoolOutput{}, Return: 2},
			{Input: job("younger", 4, 20, place), Call: 3, Output: linear.PoolOutput{}, Return: 4},
			{Input: linear.PoolInput{Node: "n"}, Call: 5, Output: linear.PoolOutput{Started: "younger"}, Return: 8},
		}
		if !overtakes {
			history = append(history, porcupine.Operation{Input: job("younger", 6, 25, linear.Ready), Call: 6,
				Output: linear.PoolOutput{}, Return: 7})
		}
		require.Equal(t, overtakes, linear.Overtaken(history) != "", "%s: %s", place, linear.Overtaken(history))
	}
}
