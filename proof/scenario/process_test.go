package scenario_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/slots"
)

// processes are those for what becomes of nodes and agents.
var processes = map[string]command{
	"node": {doc: "starts a node. standby: it does nothing by itself; folders: runs have folders; shell: it has the " +
		"profile of that name, too, a real process that says how it was called", words: []string{"NODE"},
		flags: []string{"standby", "folders", "shell"}, named: []string{"lease", "concurrency", "grace"},
		do: startNode},
	"serve": onNode("ends a node's standing by", nil, func(w *world, n *node, _ *args) error {
		if err := w.alone(n.name); err != nil {
			return err
		}
		n.stands(false)
		n.hintAnything()
		return nil
	}),
	"claim": onNode("has a node that stands by claim what it may, once", nil, func(w *world, n *node, _ *args) error {
		n.stands(false)
		n.hintAnything()
		w.quiet()
		n.stands(true)
		return nil
	}),
	"stop": onNode("shuts a node down in good order", nil, func(_ *world, n *node, _ *args) error {
		n.cancel()
		return nil
	}),
	"kill": onNode("ends a node's process at once. stored: after the call that was held, before its answer",
		[]string{"stored"}, kill),
	"pause": onNode("has a node stand still: its timers, and its calls", nil, func(_ *world, n *node, _ *args) error {
		n.pause()
		return nil
	}),
	"resume": onNode("has it go on", []string{"standby"}, func(w *world, n *node, a *args) error {
		n.stands(a.flags["standby"])
		if err := w.alone(n.name); err != nil && !a.flags["standby"] {
			return err
		}
		n.resume()
		return nil
	}),
	"cut": onNode("takes the store from a node: each call fails", nil, func(_ *world, n *node, _ *args) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.cut = true
		return nil
	}),
	"mend": onNode("gives it back", []string{"standby"}, func(w *world, n *node, a *args) error {
		n.stands(a.flags["standby"])
		if err := w.alone(n.name); err != nil && !a.flags["standby"] {
			return err
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.cut = false
		return nil
	}),
	"finish": {doc: "lets a turn that works go on, on that node if several work at it", words: []string{"RUN"},
		named: []string{"node"}, do: func(w *world, a *args) (string, error) {
			return "", w.agents.finish(a.words["RUN"], w.order, a.named["node"])
		}},
	"agent": {doc: "what happens to a run's agent between its turns: process-dies, session-expires, cannot-be-ended",
		words: []string{"RUN", "FATE"}, do: agentFate},
	"remove-folders": {doc: "deletes a run's folders", words: []string{"RUN"}, do: func(w *world, a *args) (string,
		error) {
		return "", os.RemoveAll(filepath.Join(w.dir, filepath.Base(a.words["RUN"])))
	}},
	"pool": {doc: "makes or changes a pool", words: []string{"POOL"}, named: []string{"capacity", "key-capacity"},
		do: func(w *world, a *args) (string, error) {
			p := slots.Pool{Name: a.words["POOL"], Capacity: a.number("capacity"),
				KeyCapacity: a.number("key-capacity")}
			if err := w.base.SetPool(w.ctx, p); err != nil {
				return fault(err), nil
			}
			return fmt.Sprintf("pool %s capacity=%d key_capacity=%d\n", p.Name, p.Capacity, p.KeyCapacity), nil
		}},
}

// onNode is a command about a node that lives.
func onNode(doc string, flags []string, do func(w *world, n *node, a *args) error) command {
	return command{doc: doc, words: []string{"NODE"}, flags: flags, do: func(w *world, a *args) (string, error) {
		n := w.nodes[a.words["NODE"]]
		if n == nil {
			return "", fmt.Errorf("there is no node %s", a.words["NODE"])
		}
		n.mu.Lock()
		gone := n.gone
		n.mu.Unlock()
		if gone {
			return "", fmt.Errorf("%s is gone", n.name)
		}
		return "", do(w, n, a)
	}}
}

func startNode(w *world, a *args) (string, error) {
	name := a.words["NODE"]
	if _, err := w.who(name); err == nil {
		return "", fmt.Errorf("there is a %s already", name)
	}
	if err := w.alone(name); err != nil && !a.flags["standby"] {
		return "", err
	}
	cfg := lifecycle.Config{Lease: 30 * time.Second, Poll: 5 * time.Second, Concurrency: a.number("concurrency"),
		Grace: a.duration("grace")}
	if a.named["lease"] != "" {
		cfg.Lease = a.duration("lease")
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
	n, err := w.newNode(name, cfg, a.flags["standby"])
	if err != nil {
		return fault(err), nil
	}
	w.quiet()
	if a.flags["standby"] {
		return n.name + " stands by\n", nil
	}
	return n.name + " serves\n", nil
}

// stands says whether the node does anything by itself.
func (n *node) stands(by bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.standby = by
}

func kill(w *world, n *node, a *args) error {
	n.mu.Lock()
	h := n.held
	n.mu.Unlock()
	switch {
	case h != nil && a.flags["stored"]:
		n.mu.Lock()
		n.gone = true
		n.mu.Unlock()
		h.goes <- arrives
		w.quiet()
	case h != nil:
		h.goes <- fails
	case a.flags["stored"]:
		return errors.New("nothing is held there")
	}
	n.kill()
	return nil
}

// agentFate is what happens to an agent outside of its turns.
func agentFate(w *world, a *args) (string, error) {
	run := a.words["RUN"]
	switch a.words["FATE"] {
	case "session-expires":
		w.agents.mu.Lock()
		w.agents.expired[run] = true
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
		return "", errors.New("what may happen to an agent is session-expires, cannot-be-ended and process-dies")
	}
	return "", nil
}
