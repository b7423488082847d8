package simulate

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/slots"
)

// host is a machine that runs a node: one process after the other.
type host struct {
	world *world
	name  string
	index int
	skew  time.Duration
	idle  *view // used to wait between two processes

	living *process // guarded by world.mu; nil between two processes
	ending *process // used by the scheduler only; the process that was asked to end
	home   bool     // guarded by world.mu
	count  int      // of its processes so far
}

// process is one process of a node.
type process struct {
	view   *view
	sticky *agent
	cancel context.CancelFunc
	lacks  bool          // it has no sticky engine
	number int           // among the processes of its host
	killed chan struct{} // closed by the scheduler
	ended  chan struct{} // closed when all its goroutines have ended
}

// live runs one process after the other until the world ends. It starts the next process after a
// kill although the goroutines of the killed one, which cannot be ended from outside, still exist:
// every request of theirs fails.
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
	v.recalls = w.plan.memory.lasts > 0
	v.rules = w.plan.rules.version(h.index, time.Since(epoch))
	ctx, cancel := context.WithCancel(w.ctx)
	p := &process{view: v, sticky: newAgent(v, fsm.ProfileStickyProcess), cancel: cancel, killed: make(chan struct{}),
		ended: make(chan struct{}), number: h.count}
	h.count++
	w.mu.Lock()
	p.lacks = h.name == w.plan.holds.lacking && !w.calmed
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
	engines := map[string]engine.Engine{"resumable": newAgent(v, fsm.ProfileResumable), "sticky": p.sticky}
	if p.lacks {
		delete(engines, "sticky")
		w.saw("a node lacked an engine")
	}
	cfg := lifecycle.Config{
		Store: v, Engines: engines, Forgiving: w.plan.holds.forgiving,
		Pools: []slots.Pool{w.plan.pool}, Concurrency: w.plan.limit, Lease: w.plan.lease, Grace: w.plan.grace,
		Poll: w.plan.poll, Remember: w.plan.memory.lasts,
		Clock: clock{v}, Logger: slog.New(slog.DiscardHandler),
	}
	if v.rules > 0 {
		cfg.Policy, cfg.PolicyTimeout = p.policy, w.plan.rules.hides
	}
	lc, err := lifecycle.New(cfg)
	if err == nil {
		var reader sync.WaitGroup
		reading, stop := context.WithCancel(ctx)
		if w.plan.feed.read {
			reader.Go(func() { p.reads(reading, lc) })
		}
		err = lc.Serve(ctx)
		stop()
		reader.Wait()
		lc.Close()
	}
	// Serve may abandon an agent that was paused with its host, or that ignores its cancellation
	// (J10). In a calm world there is no such agent.
	stuck := errors.Is(err, lifecycle.ErrStuck) && !w.plan.calm
	if err != nil && !errors.Is(err, errOutage) && !errors.Is(err, errCrashed) && !stuck {
		w.fault(v.name + " ended: " + err.Error())
	}
}

// process returns the running process; nil between two.
func (h *host) process() *process {
	h.world.mu.Lock()
	defer h.world.mu.Unlock()
	return h.living
}

// stop asks the process to shut down.
func (h *host) stop() {
	p := h.process()
	h.ending = p
	p.view.touched = h.world.step
	p.cancel()
}

// kill ends the process without a shutdown.
func (h *host) kill() {
	p := h.process()
	h.world.kill(p.view)
	h.ending = p
	close(p.killed)
	p.cancel()
}
