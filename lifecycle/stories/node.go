package stories

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/slots"
)

// node is a process that serves.
type node struct {
	*connection

	agents map[fsm.Profile]*agent
	cancel context.CancelFunc
	served chan struct{} // closed when Serve has returned
	lc     *lifecycle.Lifecycle
}

// nodeCommands are about nodes, agents and pools.
var nodeCommands = map[string]command{
	"node": {doc: "starts a node. standby: it claims and executes nothing; folders: runs have folders; shell: it " +
		"also has the profile shell, a real process that prints its call", words: []string{"NODE"},
		flags: []string{"standby", "folders", "shell"}, named: []string{"lease", "poll", "concurrency", "grace"},
		do: startNode},
	"serve": onNode("ends a node's standby", nil, func(w *world, n *node, _ *args) error {
		return w.activate(n, false)
	}),
	"claim": onNode("lets a standby node claim once", nil, func(w *world, n *node, _ *args) error {
		n.setStandby(false)
		n.wake()
		w.settle()
		n.setStandby(true)
		return nil
	}),
	"stop": onNode("shuts a node down in an orderly way", nil, func(_ *world, n *node, _ *args) error {
		n.cancel()
		return nil
	}),
	"kill": onNode("kills a node's process. stored: after its held call, before the response",
		[]string{"stored"}, killNode),
	"pause": onNode("stops a node's timers and calls", nil, func(_ *world, n *node, _ *args) error {
		n.pause()
		return nil
	}),
	"resume": onNode("continues a paused node", []string{"standby"}, func(w *world, n *node, a *args) error {
		if err := w.activate(n, a.flags["standby"]); err != nil {
			return err
		}
		n.resume()
		return nil
	}),
	"cut": onNode("disconnects a node from the store: each call fails", nil, func(_ *world, n *node, _ *args) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.cut = true
		return nil
	}),
	"mend": onNode("reconnects it", []string{"standby"}, func(w *world, n *node, a *args) error {
		if err := w.activate(n, a.flags["standby"]); err != nil {
			return err
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.cut = false
		return nil
	}),
	"finish": {doc: "finishes a working turn; node: if several nodes execute it", words: []string{"RUN"},
		named: []string{"node"}, do: func(w *world, a *args) (string, error) {
			return "", w.agents.finish(a.words["RUN"], a.named["node"])
		}},
	"agent": {doc: "changes a run's agent between its turns: process-dies, session-expires, " +
		"session-returns, cannot-be-ended",
		words: []string{"RUN", "FATE"}, do: setAgentFate},
	"remove-folders": {doc: "deletes a run's folders", words: []string{"RUN"},
		do: func(w *world, a *args) (string, error) {
			return "", os.RemoveAll(filepath.Join(w.dir, filepath.Base(a.words["RUN"])))
		}},
	"pool": {doc: "creates or changes a pool", words: []string{"POOL"}, named: []string{"capacity", "key-capacity"},
		do: func(w *world, a *args) (string, error) {
			p := slots.Pool{Name: a.words["POOL"], Capacity: a.number("capacity"),
				KeyCapacity: a.number("key-capacity")}
			if err := w.base.SetPool(w.ctx, p); err != nil {
				return formatError(err), nil
			}
			return fmt.Sprintf("pool %s capacity=%d key_capacity=%d\n", p.Name, p.Capacity, p.KeyCapacity), nil
		}},
}

// onNode is a command about a node that still exists.
func onNode(doc string, flags []string, do func(w *world, n *node, a *args) error) command {
	return command{doc: doc, words: []string{"NODE"}, flags: flags, do: func(w *world, a *args) (string, error) {
		n := w.nodes[a.words["NODE"]]
		if n == nil {
			return "", fmt.Errorf("there is no node %s", a.words["NODE"])
		}
		if n.isGone() {
			return "", fmt.Errorf("%s is gone", n.name)
		}
		return "", do(w, n, a)
	}}
}

func startNode(w *world, a *args) (string, error) {
	name, standby := a.words["NODE"], a.flags["standby"]
	if _, err := w.connection(name); err == nil {
		return "", fmt.Errorf("there is a %s already", name)
	}
	if err := w.allowActive(name); err != nil && !standby {
		return "", err
	}
	cfg := lifecycle.Config{Lease: 30 * time.Second, Poll: 5 * time.Second, Concurrency: a.number("concurrency"),
		Grace: a.duration("grace")}
	if a.named["lease"] != "" {
		cfg.Lease = a.duration("lease")
	}
	if a.named["poll"] != "" { // a story of days does not need polls every few seconds
		cfg.Poll = a.duration("poll")
	}
	if a.named["grace"] == "0s" {
		cfg.Grace = -1
	}
	if a.flags["folders"] {
		cfg.Dir = w.dir
	}
	if a.flags["shell"] {
		cfg.Engines = map[string]engine.Engine{"shell": w.shell}
	}
	if err := w.newNode(name, cfg, standby); err != nil {
		return formatError(err), nil
	}
	if standby {
		return name + " stands by\n", nil
	}
	return name + " serves\n", nil
}

// newNode starts a process that serves. It recovers orphans before it claims.
func (w *world) newNode(name string, cfg lifecycle.Config, standby bool) error {
	n := &node{connection: w.connect(name), agents: make(map[fsm.Profile]*agent), served: make(chan struct{})}
	n.standby, n.starting = standby, true
	if cfg.Engines == nil {
		cfg.Engines = make(map[string]engine.Engine)
	}
	for _, kind := range fsm.Profiles() {
		a := &agent{agents: w.agents, conn: n.connection}
		a.Kind, a.Reason = kind, "the story says so"
		n.agents[kind], cfg.Engines[string(kind)] = a, a
	}
	cfg.Engine, cfg.Store, cfg.Clock = n.agents[fsm.ProfileResumable], n.connection, clock{w.timers, n.connection}
	cfg.Logger = slog.New(slog.DiscardHandler)
	delete(cfg.Engines, string(fsm.ProfileResumable))
	var err error
	if n.lc, err = lifecycle.New(cfg); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	w.nodes[name] = n
	w.order = append(w.order, name)
	go n.serve(ctx)
	w.settle()
	n.mu.Lock()
	n.starting = false
	n.mu.Unlock()
	n.wake()
	w.settle()
	return nil
}

func (n *node) serve(ctx context.Context) {
	defer close(n.served)
	err := n.lc.Serve(ctx)
	n.lc.Close()
	n.mu.Lock()
	killed := n.gone
	n.gone = true
	n.mu.Unlock()
	switch {
	case killed:
	case err != nil:
		n.shared.addMessage(fmt.Sprintf("%s ends: %v", n.name, err))
	default:
		n.shared.addMessage(n.name + " has left")
	}
}

func (w *world) activate(n *node, standby bool) error {
	if err := w.allowActive(n.name); err != nil && !standby {
		return err
	}
	n.setStandby(standby)
	n.wake()
	return nil
}

// allowActive refuses a second active node: a story could not say which of two acts first.
func (w *world) allowActive(name string) error {
	for _, other := range w.order {
		n := w.nodes[other]
		n.mu.Lock()
		active := !n.gone && !n.cut && n.paused == nil && !n.standby
		n.mu.Unlock()
		if active && other != name {
			return fmt.Errorf("%s serves: only one node may, beside those that stand by", other)
		}
	}
	return nil
}

func (n *node) setStandby(standby bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.standby = standby
}

func killNode(w *world, n *node, a *args) error {
	h := n.heldCall()
	switch {
	case h != nil && a.flags["stored"]:
		n.mu.Lock()
		n.gone = true
		n.mu.Unlock()
		h.fate <- arrives
		w.settle()
	case h != nil:
		h.fate <- fails
	case a.flags["stored"]:
		return errors.New("nothing is held there")
	}
	n.kill()
	return nil
}

// kill ends the process: its calls no longer reach the store, and its resident processes are gone.
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

// setAgentFate sets the fate of a run's agent between its turns.
func setAgentFate(w *world, a *args) (string, error) {
	run := a.words["RUN"]
	switch a.words["FATE"] {
	case "session-expires":
		w.agents.mu.Lock()
		w.agents.expired[run] = true
		w.agents.mu.Unlock()
	case "session-returns":
		w.agents.mu.Lock()
		delete(w.agents.expired, run)
		w.agents.mu.Unlock()
	case "cannot-be-ended":
		w.agents.mu.Lock()
		w.agents.immortal[run] = true
		w.agents.mu.Unlock()
	case "process-dies":
		for _, name := range w.order {
			if w.nodes[name].agents[fsm.ProfileStickyProcess].Kill(run) {
				return "", nil
			}
		}
		return "", fmt.Errorf("%s has no resident process", run)
	default:
		return "", errors.New("what may happen to an agent is session-expires, session-returns, " +
			"cannot-be-ended and process-dies")
	}
	return "", nil
}
