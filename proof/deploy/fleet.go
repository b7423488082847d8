package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/interlude-go/interlude/proof/program"
)

// hostConfig is the configuration of a node: Config of command host.
type hostConfig struct {
	Database string        `json:"database"`
	Version  int           `json:"version"`
	Lease    time.Duration `json:"lease"`
	Without  string        `json:"without"`
	Refuses  time.Duration `json:"refuses"`
}

// fleet has the nodes, one in each place.
type fleet struct {
	programs programs
	config   hostConfig
	dir      string
	nodes    []*node
	started  int
	killed   int
	stopped  int
}

// node is a process.
type node struct {
	version int
	cmd     *exec.Cmd
	input   io.Closer
	log     string
	working atomic.Int64 // the number of agents that work now
	done    chan error
}

// start starts a node of the version, and waits until it reports that it begins to serve.
func (f *fleet) start(version int) (*node, error) {
	config := f.config
	config.Version = version
	told, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	program := f.programs.first
	if version > 1 {
		program = f.programs.second
	}
	f.started++
	n := &node{version: version, log: filepath.Join(f.dir, fmt.Sprintf("node-%d.log", f.started)),
		done: make(chan error, 1)}
	log, err := os.Create(n.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	n.cmd = exec.Command(program) //nolint:noctx // the fleet ends it, or the end of its input does
	n.cmd.Env, n.cmd.Stderr = append(os.Environ(), "INTERLUDE_DEPLOY_HOST="+string(told)), log
	if n.input, err = n.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	ready := lines.Scan()
	go func() {
		for lines.Scan() {
			n.working.Add(map[string]int64{"+": 1, "-": -1}[lines.Text()])
		}
		n.done <- n.cmd.Wait()
	}()
	if !ready {
		return nil, fmt.Errorf("a node of version %d does not start: %w: %s", version, <-n.done, n.output())
	}
	return n, nil
}

// output returns the output of the node.
func (n *node) output() string {
	text, err := os.ReadFile(n.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// stop sends SIGTERM to the node, and returns an error if the node does not shut down in order.
func (f *fleet) stop(n *node) error {
	f.stopped++
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := program.Await("the node", n.cmd.Process, n.done, program.Patience)
	_ = n.input.Close() // the process has ended
	if err != nil {
		return fmt.Errorf("a node of version %d that was asked to end: %w: %s", n.version, err, n.output())
	}
	return nil
}

// kill sends SIGKILL to the node.
func (f *fleet) kill(n *node) error {
	f.killed++
	err := n.cmd.Process.Kill()
	ended := <-n.done
	_ = n.input.Close() // the process has ended
	var exit *exec.ExitError
	if !errors.As(ended, &exit) || exit.Exited() {
		return errors.Join(err, fmt.Errorf("a node of version %d ended by itself: %w: %s", n.version, ended,
			n.output()))
	}
	return err
}

// replace ends the node in a place, and starts a node of the version in this place.
func (f *fleet) replace(place, version int, end func(*node) error) error {
	if err := end(f.nodes[place]); err != nil {
		return err
	}
	n, err := f.start(version)
	if err == nil {
		f.nodes[place] = n
	}
	return err
}

// abandon kills the remaining nodes.
func (f *fleet) abandon() {
	for _, n := range f.nodes {
		_ = n.cmd.Process.Kill() // it may have ended already
	}
}
