package scenario_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
)

// pause has the process stand still.
func (v *view) pause() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.awake == nil {
		v.awake = make(chan struct{})
	}
}

// resume has it go on.
func (v *view) resume() {
	v.mu.Lock()
	awake := v.awake
	v.awake = nil
	v.mu.Unlock()
	if awake != nil {
		close(awake)
	}
}

// node is a process that serves.
type node struct {
	*view

	agents map[fsm.Profile]*agent
	cancel context.CancelFunc
	served chan struct{} // closed when Serve has returned
	lc     *lifecycle.Lifecycle
}

// newNode starts a process that serves.
func (w *world) newNode(name string, cfg lifecycle.Config, standby bool) (*node, error) {
	n := &node{view: w.newView(name), agents: make(map[fsm.Profile]*agent), served: make(chan struct{})}
	n.standby, n.begins = standby, true
	if cfg.Engines == nil {
		cfg.Engines = make(map[string]engine.Engine)
	}
	for _, kind := range fsm.Profiles() {
		a := &agent{agents: w.agents, view: n.view}
		a.Kind, a.Reason = kind, "the story says so"
		n.agents[kind], cfg.Engines[string(kind)] = a, a
	}
	cfg.Engine, cfg.Store, cfg.Clock, cfg.Logger = n.agents[fsm.ProfileResumable], n.view, clock{w.timers, n.view},
		slog.New(slog.DiscardHandler)
	delete(cfg.Engines, string(fsm.ProfileResumable))
	var err error
	if n.lc, err = lifecycle.New(cfg); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	w.nodes[name] = n
	w.order = append(w.order, name)
	go func() {
		defer close(n.served)
		err := n.lc.Serve(ctx)
		n.lc.Close()
		n.mu.Lock()
		gone := n.gone
		n.gone = true
		n.mu.Unlock()
		switch {
		case gone:
		case err != nil:
			w.board.say(fmt.Sprintf("%s ends: %v", name, err))
		default:
			w.board.say(fmt.Sprintf("%s has left", name))
		}
	}()
	w.quiet()
	n.mu.Lock()
	n.begins = false
	n.mu.Unlock()
	n.hintAnything()
	return n, nil
}

// active is the name of a node that does what there is to do by itself; empty when there is none.
func (w *world) active() string {
	for _, name := range w.order {
		n := w.nodes[name]
		n.mu.Lock()
		active := !n.gone && !n.cut && n.awake == nil && !n.standby
		n.mu.Unlock()
		if active {
			return name
		}
	}
	return ""
}

// alone says no when another node is active: which of two acts first is nothing that a story could
// tell.
func (w *world) alone(name string) error {
	if other := w.active(); other != "" && other != name {
		return fmt.Errorf("%s serves: only one node may, beside those that stand by", other)
	}
	return nil
}

// kill ends the process at once: nothing that it does reaches the store any more, and its resident
// processes are gone.
func (n *node) kill() {
	n.mu.Lock()
	n.gone = true
	n.mu.Unlock()
	n.resume()
	n.cancel()
	for _, a := range n.agents {
		a.Vanish()
	}
}
