package linear_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/proof/linear"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// contest has some nodes that share one pool of a store, and the history of their calls.
type contest struct {
	testing.TB

	seed    uint64
	pool    string
	log     *linear.Log
	now     atomic.Int64 // microseconds since noon; each reading is a different time
	handles []store.Store

	mu  sync.Mutex
	ids []string // guarded by mu
}

const (
	lanes = 4 // how many nodes act at the same time; each is a client too
	acts  = 12
)

// newContest makes a contest for a new pool.
func newContest(tb testing.TB, handles []store.Store, seed uint64) *contest {
	tb.Helper()
	return &contest{TB: tb, seed: seed, pool: fmt.Sprint("p", seed), log: &linear.Log{}, handles: handles}
}

// run lets all lanes act in the pool, whose size the seed chooses, and then empties it. It returns
// what prevents that.
func (c *contest) run() string {
	c.Helper()
	rng := dice(c.seed, "pool")
	size := slots.Pool{Name: c.pool, Capacity: 1 + rng.IntN(3), KeyCapacity: max(0, rng.IntN(4)-1)}
	c.resize(c.handles[0], 0, size)
	var all sync.WaitGroup
	for i := range lanes {
		node := fmt.Sprintf("n%d-%d", c.seed, i)
		require.NoError(c, c.handles[i].Join(c.Context(), store.Node{ID: node, Lease: time.Hour}, noon))
		all.Go(func() {
			l := &lane{contest: c, s: c.handles[i], node: node, client: i, rng: dice(c.seed, node), size: size}
			for range acts {
				l.acts(c.Context())
			}
		})
	}
	all.Wait()
	return c.empty()
}

// empty ends all runs, from a single node.
func (c *contest) empty() string {
	c.Helper()
	l := &lane{contest: c, s: c.handles[0], node: fmt.Sprintf("n%d-0", c.seed), rng: dice(c.seed, "end"), alone: true}
	for range 100 {
		page, err := l.s.Runs(c.Context(), store.Query{Pool: c.pool, States: []fsm.State{fsm.StateQueued,
			fsm.StateRunning, fsm.StateWaitingUser}, Limit: store.MaxBatch})
		require.NoError(c, err)
		left := 0
		for _, r := range page.Runs {
			if r.State != fsm.StateQueued || r.Slot {
				l.change(c.Context(), ended(r, l.time(), fsm.StateCanceled))
			} else {
				left++
			}
		}
		if left == 0 {
			return ""
		}
		l.claim(c.Context(), 2)
	}
	return "the pool does not become empty"
}

func (c *contest) time() time.Time { return noon.Add(time.Duration(c.now.Add(1)) * time.Microsecond) }

func (c *contest) resize(s store.Store, client int, size slots.Pool) {
	call := c.log.CallPool(client, linear.PoolInput{Size: &size})
	if err := s.SetPool(c.Context(), size); err != nil {
		c.Errorf("seed %d: %v", c.seed, err)
		return
	}
	call.ReturnPool(linear.PoolOutput{})
}

// lane is one node. It also submits, replies and cancels.
type lane struct {
	*contest

	s      store.Store
	node   string
	client int
	rng    *rand.Rand
	size   slots.Pool
	alone  bool
	count  int
}

func (l *lane) acts(ctx context.Context) {
	switch n := l.rng.IntN(20); {
	case n < 4 || l.count == 0:
		l.submit(ctx)
	case n < 10:
		l.claim(ctx, 1+l.rng.IntN(3))
	case n == 10:
		size := l.size
		size.Capacity = 1 + l.rng.IntN(3)
		l.resize(l.s, l.client, size)
	default:
		l.moves(ctx)
	}
}

func (l *lane) submit(ctx context.Context) {
	id := fmt.Sprintf("r%d-%d-%d", l.seed, l.client, l.count)
	l.count++
	l.mu.Lock()
	l.ids = append(l.ids, id)
	l.mu.Unlock()
	l.change(ctx, created(id, l.pool, []string{"", "a", "b"}[l.rng.IntN(3)], l.rng.IntN(2), l.time()))
}

// moves takes one step with some run, whichever node it belongs to. Others may do so at the same
// time.
func (l *lane) moves(ctx context.Context) {
	l.mu.Lock()
	id := l.ids[l.rng.IntN(len(l.ids))]
	l.mu.Unlock()
	r, err := l.s.Run(ctx, id)
	if err != nil {
		return // the run is not there yet
	}
	now := l.time()
	switch n := l.rng.IntN(4); {
	case r.State == fsm.StateRunning && n == 0:
		l.change(ctx, queuedAgain(r, now))
	case r.State == fsm.StateRunning && n < 3:
		l.change(ctx, asked(r, now, n == 1))
	case r.State == fsm.StateRunning:
		l.change(ctx, ended(r, now, fsm.StateSucceeded))
	case r.State == fsm.StateWaitingUser:
		l.change(ctx, answered(r, now))
	case r.State == fsm.StateQueued && n == 0:
		l.change(ctx, ended(r, now, fsm.StateCanceled))
	}
}

// change stores a commit. Sometimes the outcome is hidden from the lane.
func (l *lane) change(ctx context.Context, c store.Commit) {
	job := jobOf(&c.Run)
	call := l.log.CallPool(l.client, linear.PoolInput{Job: &job})
	err := one(ctx, l.s, c)
	out := linear.Answer(err)
	if !out.Unknown && (l.alone || l.rng.IntN(25) > 0) {
		call.ReturnPool(linear.PoolOutput{Err: out.Err})
	}
}

func jobOf(r *store.Run) linear.Job {
	j := linear.Job{ID: r.ID, Version: r.Version, Key: r.Key, Priority: r.Priority, Queued: r.QueuedAt.UnixMicro(),
		Owner: r.Owner}
	switch {
	case r.State.Terminal():
		j.Place = linear.Over
	case r.State == fsm.StateQueued && r.Slot:
		j.Place = linear.Sticky
	case r.State == fsm.StateQueued:
		j.Place = linear.Ready
	case r.Slot:
		j.Place = linear.Holds
	default:
		j.Place = linear.Parked
	}
	return j
}

func (l *lane) claim(ctx context.Context, limit int) {
	call := l.log.CallPool(l.client, linear.PoolInput{Node: l.node, Max: limit, Alone: l.alone})
	now := l.time()
	claimed, err := l.s.Claim(ctx, store.ClaimRequest{Node: l.node, Now: now, Max: limit, Hinted: true,
		Start: started(now)})
	if err != nil {
		l.Errorf("seed %d: claim: %v", l.seed, err)
	}
	var ids strings.Builder
	for _, c := range claimed {
		ids.WriteString(c.Run.ID + "\n")
	}
	call.ReturnPool(linear.PoolOutput{Started: ids.String()})
}
