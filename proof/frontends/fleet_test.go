package frontends_test

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/proof/cast"
)

// process is a node that runs.
type process struct {
	host    *cast.Host
	address string
}

// fleet has the processes of the nodes.
type fleet struct {
	node node

	mu      sync.Mutex
	living  []*process // guarded by mu
	killed  int        // guarded by mu
	stopped bool       // guarded by mu
	err     error      // guarded by mu; why a node could not be started
}

// startFleet starts so many nodes.
func startFleet(n node, size int) (*fleet, error) {
	f := &fleet{node: n}
	var starting sync.WaitGroup
	for range size {
		starting.Go(f.start)
	}
	starting.Wait()
	return f, f.failure()
}

// start starts a node, and waits until it serves.
func (f *fleet) start() {
	p, err := f.node.start()
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil:
		f.err = errors.Join(f.err, err)
	case f.stopped:
		p.kill()
	default:
		f.living = append(f.living, p)
	}
}

func (n *node) start() (*process, error) {
	p := &process{}
	var err error
	says := func(line string) { p.address = line }
	p.host, err = cast.StartHost(context.Background(), n, cast.HostOptions{Says: says})
	return p, err
}

// kill is kill -9.
func (p *process) kill() { _ = p.host.Kill() } // it may have ended

// killOne kills a node, and starts another one in its place.
func (f *fleet) killOne() {
	f.mu.Lock()
	if len(f.living) == 0 || f.stopped {
		f.mu.Unlock()
		return
	}
	i := sample.N(len(f.living))
	p := f.living[i]
	f.living = slices.Delete(f.living, i, i+1)
	f.killed++
	f.mu.Unlock()
	p.kill()
	f.start()
}

// address returns a serving node's address, or empty.
func (f *fleet) address() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.living) == 0 {
		return ""
	}
	return f.living[sample.N(len(f.living))].address
}

// addresses returns all nodes' addresses.
func (f *fleet) addresses() (all []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.living {
		all = append(all, p.address)
	}
	return all
}

// failure is why a node could not be started.
func (f *fleet) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// stop ends all nodes, and returns how many were killed before.
func (f *fleet) stop() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
	for _, p := range f.living {
		p.kill()
	}
	f.living = nil
	return f.killed
}
