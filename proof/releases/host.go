package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// poll is the interval at which nodes poll, in real time. All other times are measured by the clock
// below.
const poll = 5 * time.Millisecond

// clock is a clock that only the play advances, so that all stored times are the same in each
// repetition of the play.
type clock struct {
	mu     sync.Mutex
	now    time.Time            // guarded by mu
	timers map[*clockTimer]bool // guarded by mu
}

type clockTimer struct {
	at time.Time
	c  chan time.Time
}

func newClock(now time.Time) *clock { return &clock{now: now, timers: make(map[*clockTimer]bool)} }

// Now implements lifecycle.Clock.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Timer implements lifecycle.Clock.
func (c *clock) Timer(d time.Duration) (<-chan time.Time, func()) {
	if d <= poll {
		t := time.NewTimer(d)
		return t.C, func() { t.Stop() }
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &clockTimer{at: c.now.Add(d), c: make(chan time.Time, 1)}
	c.timers[t] = true
	return t.c, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, t)
	}
}

// pass moves the clock.
func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for t := range c.timers {
		if !t.at.After(c.now) {
			t.c <- c.now
			delete(c.timers, t)
		}
	}
}

// The names of the engines, except for the default one.
const (
	residentEngine  = "resident"  // its processes live between turns
	formerEngine    = "former"    // only the node that dies first has it
	elsewhereEngine = "elsewhere" // only the first node has it
)

// pools has the pools, except for the default one.
var pools = []slots.Pool{{Name: "p", Capacity: 8, KeyCapacity: 4}}

// leaseOfNode is longer than the play, both by the play's clock and by a server's.
const leaseOfNode = time.Hour

// directory makes Ada the deputy of Ann.
type directory struct{}

func (directory) Principals(_ context.Context, id string, _ time.Time) ([]lifecycle.Principal, error) {
	if id != "ada" {
		return nil, nil
	}
	return []lifecycle.Principal{{ID: "ann"}}, nil
}

// host represents a process that works on the runs: a node, or a client, which has no engine.
type host struct {
	*lifecycle.Client
	store  store.Store
	clock  *clock
	leave  context.CancelFunc
	served chan error
}

// newNode returns a node that has joined the store, with these engines besides those of all nodes.
// The cast says what its turns do.
func newNode(ctx context.Context, s store.Store, c *clock, own []string) (*host, error) {
	engines := map[string]engine.Engine{
		residentEngine: &enginetest.FakeAgent{Kind: fsm.ProfileStickyProcess, Reason: "as the play says", Turn: turn},
	}
	for _, name := range own {
		engines[name] = engine.Func(turn)
	}
	var hangs lifecycle.Policy // only on the last node
	if len(own) == 0 {
		hangs = func(ctx context.Context, _ lifecycle.Proposal) (lifecycle.Ruling, error) {
			<-ctx.Done()
			return lifecycle.Ruling{}, ctx.Err()
		}
	}
	lc, err := lifecycle.New(lifecycle.Config{
		Policy: hangs, Remember: 8 * time.Hour, Directory: directory{},
		Store: s, Engine: engine.Func(turn), Engines: engines, Pools: pools,
		Lease: leaseOfNode, Grace: -1, Poll: poll, Clock: c, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	h := &host{Client: lc.Client, store: s, clock: c, served: make(chan error, 1)}
	ctx, h.leave = context.WithCancel(ctx)
	go func() { h.served <- lc.Serve(ctx) }()
	return h, nil
}

// newClient returns a host that executes nothing.
func newClient(s store.Store, c *clock) (*host, error) {
	client, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: s, Clock: c})
	return &host{Client: client, store: s, clock: c}, err
}

// end shuts the node down in order.
func (h *host) end() error {
	h.leave()
	return errors.Join(<-h.served, h.close())
}

// die ends the node's access to the store, so that it cannot clean up.
func (h *host) die() error {
	err := h.store.Close()
	if served := <-h.served; !errors.Is(served, store.ErrClosed) {
		return fmt.Errorf("a node without a store ended with %w", served)
	}
	h.leave()
	h.Close()
	return err
}

func (h *host) close() error {
	h.Close()
	return h.store.Close()
}

// until waits until the condition holds for the run.
func (h *host) until(ctx context.Context, id, what string, is func(*lifecycle.Run) bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		run, err := h.Get(ctx, id)
		if err != nil {
			return fmt.Errorf("%s is not %s: %w", id, what, err)
		}
		if is(&run) {
			return nil
		}
		if run.State.Terminal() {
			return fmt.Errorf("%s is not %s: %+v", id, what, run)
		}
		time.Sleep(time.Millisecond)
	}
}

// inState waits until the run is in the state and its last turn has the number.
func (h *host) inState(ctx context.Context, id string, state fsm.State, attempt int) error {
	return h.until(ctx, id, string(state), func(r *lifecycle.Run) bool {
		return r.State == state && r.Attempt >= attempt
	})
}

// begun counts, for each run, how often its engine was called. The state running is not enough to
// wait for: it is stored before the engine is called, and a node that ends in between returns the
// run to the queue (J1).
var begun calls

type calls struct {
	mu sync.Mutex
	of map[string]int // guarded by mu
}

func (c *calls) note(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = make(map[string]int)
	}
	c.of[id]++
}

func (c *calls) count(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[id]
}

// turn executes the turn of the cast for this run and attempt. Later attempts execute the last turn
// of the cast.
func turn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	at := slices.IndexFunc(cast, func(p part) bool { return p.id == t.RunID })
	if at < 0 || len(cast[at].turns) == 0 {
		return engine.Outcome{}, fmt.Errorf("run %s has no turn", t.RunID)
	}
	begun.note(t.RunID)
	turns := cast[at].turns
	return turns[min(t.Attempt, len(turns))-1](ctx, t, s)
}
