package simulate

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/slots"
)

// host is a machine on which a node lives, one process after the other.
type host struct {
	world *world
	name  string
	skew  time.Duration
	idle  *view // waits between two processes

	living *process // guarded by world.mu; nil between two
	ending *process // the scheduler's; the process that was asked to end
	home   bool     // guarded by world.mu
}

// process is one life of a node.
type process struct {
	view   *view
	sticky *agent
	cancel context.CancelFunc
	killed chan struct{} // closed by the scheduler
	ended  chan struct{} // closed when nothing that it started is left
}

// live lets processes follow each other until the world ends. One that was killed is succeeded
// though its goroutines, which this process cannot end, are still there: they reach nobody any
// more.
func (h *host) live() {
	w := h.world
	for first := true; first || h.idle.rest(w.ending, 2*time.Second); first = false {
		p := h.start()
		select {
		case <-p.killed:
		case <-p.ended:
		}
		w.mu.Lock()
		h.living = nil
		w.mu.Unlock()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	h.home = true
}

// start starts a process.
func (h *host) start() *process {
	w := h.world
	v := w.newView(h.name, h.skew)
	ctx, cancel := context.WithCancel(w.ctx)
	p := &process{view: v, sticky: newAgent(v, fsm.ProfileStickyProcess), cancel: cancel, killed: make(chan struct{}),
		ended: make(chan struct{})}
	w.mu.Lock()
	h.living = p
	w.processes++
	w.mu.Unlock()
	go func() {
		p.serve(ctx)
		cancel()
		w.leaveView(v)
		w.mu.Lock()
		w.processes--
		w.mu.Unlock()
		close(p.ended)
	}()
	return p
}

func (p *process) serve(ctx context.Context) {
	v, w := p.view, p.view.world
	lc, err := lifecycle.New(lifecycle.Config{
		Store: v, Engines: map[string]engine.Engine{"resumable": newAgent(v, fsm.ProfileResumable), "sticky": p.sticky},
		Pools: []slots.Pool{w.plan.pool}, Concurrency: w.plan.limit, Lease: w.plan.lease, Grace: w.plan.grace,
		Poll:  w.plan.poll,
		Clock: clock{v}, Logger: slog.New(slog.DiscardHandler),
	})
	if err == nil {
		err = lc.Serve(ctx)
		lc.Close()
	}
	// An agent that stood still with its host, or is deaf, may be left behind (J10); in a calm
	// world there is none.
	stuck := errors.Is(err, lifecycle.ErrStuck) && !w.plan.calm
	if err != nil && !errors.Is(err, errOutage) && !errors.Is(err, errCrashed) && !stuck {
		w.fault(v.name + " ended: " + err.Error())
	}
}

// process is the living one; nil between two.
func (h *host) process() *process {
	h.world.mu.Lock()
	defer h.world.mu.Unlock()
	return h.living
}

// stop tells the process to end.
func (h *host) stop() {
	p := h.process()
	h.ending = p
	p.view.touched = h.world.step
	p.cancel()
}

// kill ends it without a word.
func (h *host) kill() {
	p := h.process()
	h.world.kill(p.view)
	h.ending = p
	close(p.killed)
	p.cancel()
}
