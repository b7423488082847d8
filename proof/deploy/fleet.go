package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/interlude-go/interlude/proof/cast"
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
	*cast.Host

	version int
	working atomic.Int64 // the number of agents that work now
}

// start starts a node of the version, and waits until it reports that it begins to serve.
func (f *fleet) start(version int) (*node, error) {
	config := f.config
	config.Version = version
	program := f.programs.first
	if version > 1 {
		program = f.programs.second
	}
	f.started++
	n := &node{version: version}
	var err error
	n.Host, err = cast.StartHost(context.Background(), config, cast.HostOptions{Program: program,
		Log:  filepath.Join(f.dir, fmt.Sprintf("node-%d.log", f.started)),
		Says: func(line string) { n.working.Add(map[string]int64{"+": 1, "-": -1}[line]) }})
	if err != nil {
		return nil, fmt.Errorf("version %d: %w", version, err)
	}
	return n, nil
}

// stop sends SIGTERM to the node, and returns an error if the node does not shut down in order.
func (f *fleet) stop(n *node) error {
	f.stopped++
	if err := n.Stop(); err != nil {
		return fmt.Errorf("a node of version %d that was asked to end: %w", n.version, err)
	}
	return nil
}

// kill sends SIGKILL to the node.
func (f *fleet) kill(n *node) error {
	f.killed++
	return n.Kill()
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
		_ = n.Kill() // it may have ended already
	}
}
