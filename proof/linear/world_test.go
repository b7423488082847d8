package linear_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/linear"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// world has two nodes and some clients on one store, and the history of their calls.
type world struct {
	testing.TB

	seed    uint64
	clock   quick
	log     *linear.Log
	found   findings
	nodes   [2]*node
	clients []*lifecycle.Client
	reaper  *lifecycle.Client // makes recoveries, through a recorded store
	expirer store.Store
	chaos   bool
	// directory knows the deputies of the clients' people.
	directory lifecycle.Directory
	rules     bool // its hosts have a policy, remember decisions and know deputies
}

const (
	capacity = 4
	people   = 3 // how many people make calls about one run at the same time
	// lease is longer than any pause of a busy machine: nodes lose it only through wreak.
	lease = 200 * time.Second
)

// node is a host process that can be shut down and started again.
type node struct {
	*world

	*lifecycle.Lifecycle

	agents map[string]*agent
	end    func()
}

// processes is the number of processes that share a store: two nodes and two front ends, with a
// handle each.
const processes = 4

// newWorld makes a world on these handles. Every other seed is of a world with rules.
func newWorld(tb testing.TB, handles []store.Store, seed uint64) *world {
	tb.Helper()
	w := &world{TB: tb, seed: seed, clock: newClock(), log: &linear.Log{}, chaos: true,
		rules: seed%2 == 0, directory: deputies{}}
	if b, ok := handles[0].(*broken); ok && b.directory != nil {
		w.directory = b.directory
	}
	for i := range w.nodes {
		w.nodes[i] = w.node(i, handles[i])
	}
	for i := range people {
		w.clients = append(w.clients, w.client(&flaky{Store: handles[2+i%2], fault: w.faults(fmt.Sprint("client", i),
			15)}))
	}
	w.expirer = &linear.Recorded{Store: handles[3], Log: w.log, Client: people + len(w.nodes)}
	w.reaper = w.client(w.expirer)
	return w
}

func (w *world) client(s store.Store) *lifecycle.Client {
	cfg := lifecycle.ClientConfig{Store: s, Clock: w.clock, Logger: slog.New(slog.DiscardHandler)}
	if w.rules {
		cfg.Directory, cfg.Remember = w.directory, remembers
	}
	c, err := lifecycle.NewClient(cfg)
	require.NoError(w, err)
	w.Cleanup(c.Close)
	return c
}

// faults returns a function that draws a fault about once in n writes.
func (w *world) faults(name string, n int) func() linear.Fault {
	var mu sync.Mutex
	rng := dice(w.seed, name)
	return func() linear.Fault {
		mu.Lock()
		defer mu.Unlock()
		switch rng.IntN(2 * n) {
		case 0:
			return linear.Lost
		case 1:
			return linear.Dropped
		}
		return linear.None
	}
}

func (w *world) node(i int, s store.Store) *node {
	n := &node{world: w, agents: map[string]*agent{}}
	for _, kind := range []fsm.Profile{fsm.ProfileResumable, fsm.ProfileStickyProcess} {
		n.agents[string(kind)] = newAgent(kind, w)
	}
	recorded := &linear.Recorded{Store: s, Log: w.log, Client: people + i, Evidence: w.found.of,
		Began: w.found.began,
		Fault: w.faults(fmt.Sprint("node", i), 40)}
	cfg := lifecycle.Config{
		Store: recorded, Clock: w.clock, Logger: slog.New(slog.DiscardHandler), Lease: lease, Grace: -1,
		Poll: time.Second,
		Engines: map[string]engine.Engine{
			string(fsm.ProfileResumable):     n.agents[string(fsm.ProfileResumable)],
			string(fsm.ProfileStickyProcess): n.agents[string(fsm.ProfileStickyProcess)],
		},
		Pools: []slots.Pool{{Name: slots.DefaultPool, Capacity: capacity}},
	}
	if w.rules {
		recorded.Says = w.says
		cfg.Policy, cfg.PolicyTimeout, cfg.Remember = w.policy, hides, remembers
	}
	lc, err := lifecycle.New(cfg)
	require.NoError(w, err)
	n.Lifecycle = lc
	w.Cleanup(lc.Close)
	return n
}

func (n *node) start() {
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- n.Serve(ctx) }()
	n.end = func() {
		cancel()
		err := <-served
		// The clock is so fast that on a busy machine the time limit of an engine call may pass
		// before its agent has been scheduled. Then the call returns later.
		if errors.Is(err, lifecycle.ErrStuck) {
			assert.Eventually(n, func() bool { return len(n.Stuck()) == 0 }, time.Minute, time.Millisecond)
			err = nil
		}
		if err != nil {
			n.Errorf("serve: %v", err)
		}
	}
}

// live runs batches of runs to their ends, while the nodes crash, leave and come back.
func (w *world) live(batches, size int) {
	w.Helper()
	for _, n := range w.nodes {
		n.start()
	}
	ctx, over := context.WithCancel(w.Context())
	var chaos sync.WaitGroup
	if w.chaos {
		chaos.Go(func() { w.wreak(ctx, dice(w.seed, "chaos")) })
	}
	for b := range batches {
		var lives sync.WaitGroup
		for i := range size {
			lives.Go(func() { w.life(ctx, fmt.Sprintf("r%d-%d-%d", w.seed, b, i)) })
		}
		lives.Wait()
	}
	over()
	chaos.Wait()
	for _, n := range w.nodes {
		n.end()
	}
}

// wreak makes nodes fail until ctx ends.
func (w *world) wreak(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		w.clock.ponder(ctx, time.Duration(500+rng.IntN(4000))*time.Millisecond)
		n := w.nodes[rng.IntN(2)]
		switch rng.IntN(6) {
		case 0: // the node is shut down and started again
			n.end()
			n.start()
		case 1, 2: // the node is expired, and continues as a zombie until it notices
			if all, err := w.expirer.Nodes(ctx); err == nil && len(all) > 0 {
				_, _ = w.expirer.Expire(ctx, time.Time{}, all[rng.IntN(len(all))].ID) // the history shows the outcome
			}
		case 3, 4:
			_, _ = w.reaper.Recover(ctx) // the history shows the outcome
		case 5:
			n.agents[string(fsm.ProfileStickyProcess)].KillAny()
		}
	}
}
