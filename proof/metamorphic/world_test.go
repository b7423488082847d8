package metamorphic_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// gate lets a node act by itself only in the steps that allow it. At other times the node finds
// nothing to claim, nothing due and no orphans.
type gate struct {
	store.Store

	claims, deadlines, recoveries atomic.Bool
}

func (g *gate) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	if !g.claims.Load() {
		return nil, nil
	}
	req.NextDue = nil // it changes when a node polls, and not every store calls it
	return g.Store.Claim(ctx, req)
}

func (g *gate) Due(ctx context.Context, now time.Time, limit int) ([]store.Run, time.Time, error) {
	if !g.deadlines.Load() {
		return nil, time.Time{}, nil
	}
	return g.Store.Due(ctx, now, limit)
}

func (g *gate) Orphans(ctx context.Context, skip, limit int) ([]store.Run, error) {
	if !g.recoveries.Load() {
		return nil, nil
	}
	return g.Store.Orphans(ctx, skip, limit)
}

// world is a host in a bubble: one node that serves, and a front end.
type world struct {
	ctx    context.Context
	gate   *gate
	second store.Store
	client *lifecycle.Client
	lc     *lifecycle.Lifecycle
	agents map[string]*agent
	stop   func() error
	nodes  map[string]string // names of nodes, by id
	next   map[string]string // the cursors at which listings ended
	said   []string          // the answers
}

// third is the interval of the node's heartbeats. It is chosen so that no heartbeat coincides with
// a poll.
const third = 10*time.Second + 337*time.Millisecond

func newWorld(ctx context.Context, node, second store.Store) (*world, error) {
	w := &world{
		ctx: ctx, gate: &gate{Store: silent{node}}, second: silent{second},
		agents: make(map[string]*agent),
		nodes:  map[string]string{"": ""}, next: make(map[string]string),
	}
	engines := make(map[string]engine.Engine)
	for _, kind := range []fsm.Profile{fsm.ProfileResumable, fsm.ProfileStickyProcess} {
		w.agents[string(kind)] = newAgent(kind)
		engines[string(kind)] = w.agents[string(kind)]
	}
	var err error
	if w.client, err = lifecycle.NewClient(lifecycle.ClientConfig{Store: w.second, Clock: lifecycle.SystemClock{},
		Logger: slog.New(slog.DiscardHandler)}); err != nil {
		return nil, err
	}
	w.lc, err = lifecycle.New(lifecycle.Config{
		Store: w.gate, Engines: engines, Clock: lifecycle.SystemClock{}, Logger: slog.New(slog.DiscardHandler),
		Lease: 3 * third, Grace: -1,
		Pools: []slots.Pool{{Name: slots.DefaultPool, Capacity: 2}, {Name: "small", Capacity: 1, KeyCapacity: 1}},
	})
	if err == nil {
		w.start()
	}
	return w, err
}

func (w *world) start() {
	ctx, cancel := context.WithCancel(w.ctx)
	served := make(chan error, 1)
	go func() { served <- w.lc.Serve(ctx) }()
	w.stop = func() error {
		cancel()
		return <-served
	}
	synctest.Wait()
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	time.Sleep(d) // the bubble's time
	synctest.Wait()
}

// during lets time pass while a gate is open.
func (w *world) during(open *atomic.Bool, d time.Duration) {
	open.Store(true)
	w.pass(d)
	open.Store(false)
}

// end stops the node, reads everything once more, and leaves the store empty.
func (w *world) end() error {
	err := w.stop()
	if err != nil {
		return err
	}
	for i := range runs {
		w.readRun(id(i))
	}
	for i := range runs {
		w.say("cancel at the end", w.fault(w.client.Cancel(w.ctx, id(i), "")))
	}
	n, err := w.client.Prune(w.ctx, time.Now().Add(time.Hour))
	w.say("prune all", n, w.fault(err))
	page, err := w.client.Runs(w.ctx, store.Query{})
	if err == nil && len(page.Runs) > 0 {
		err = fmt.Errorf("%d runs are left", len(page.Runs))
	}
	w.lc.Close()
	w.client.Close()
	return err
}

func id(i int) string { return fmt.Sprintf("run-%d", i) }
