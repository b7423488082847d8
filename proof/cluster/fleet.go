package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/interlude-go/interlude/proof/cast"
)

// fleet is all nodes, each a process that is started again when it ends.
type fleet struct {
	dir     string
	config  nodeConfig
	members []*member
	work    sync.WaitGroup
	ending  chan struct{}

	mu        sync.Mutex
	processes []*process // guarded by mu; all processes that were ever started
	faults    []string   // guarded by mu; what went wrong without a disturbance
}

// member is one place in the fleet, where one process runs after the other.
type member struct {
	name string

	mu      sync.Mutex
	present *process      // guarded by mu
	down    time.Duration // guarded by mu; the pause before the next process is started
	busy    bool          // guarded by mu; being disturbed
}

// process is one process of a member.
type process struct {
	*cast.Host

	number    int
	name      string
	elsewhere bool
	journal   string
	began     time.Time

	mu    sync.Mutex
	ended string    // guarded by mu; how it was ended: "killed", "stopped", ""
	at    time.Time // guarded by mu; when
	still []span    // guarded by mu; when it was paused
}

// span is the time between two moments, possibly without an end.
type span struct{ from, to time.Time }

func newFleet(dir string, config nodeConfig, nodes int) *fleet {
	f := &fleet{dir: dir, config: config, ending: make(chan struct{})}
	for i := range nodes {
		f.members = append(f.members, &member{name: fmt.Sprintf("node-%d", i+1)})
	}
	return f
}

// start starts all members, or fails.
func (f *fleet) start() error {
	for _, m := range f.members {
		p, err := f.launch(m)
		if err != nil {
			return err
		}
		f.work.Go(func() { f.restartWhenEnded(m, p) })
	}
	return nil
}

// restartWhenEnded waits until a member's process has ended, and starts the next one.
func (f *fleet) restartWhenEnded(m *member, p *process) {
	for {
		err := p.Err()
		_ = p.Release() // it may be released already
		p.mu.Lock()
		how := p.ended
		p.mu.Unlock()
		var exit *exec.ExitError
		if how == "" || how == stopped && errors.As(err, &exit) && exit.ExitCode() > 0 {
			f.fault(fmt.Sprintf("%s ended by itself: %v: %s", p.name, err, p.Output()))
		}
		m.mu.Lock()
		wait := m.down
		m.down = 0
		m.mu.Unlock()
		select {
		case <-time.After(wait):
		case <-f.ending:
			return
		}
		if p, err = f.launch(m); err != nil {
			if !errors.Is(err, errEnding) {
				f.fault(err.Error())
			}
			return
		}
	}
}

func (f *fleet) fault(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, what)
}

var errEnding = errors.New("the fleet ends")

// launch starts a process for the member.
func (f *fleet) launch(m *member) (*process, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.ending:
		return nil, errEnding
	default:
	}
	number := len(f.processes)
	base := filepath.Join(f.dir, fmt.Sprintf("%s-%d", m.name, number))
	p := &process{number: number, name: m.name, journal: base + ".journal", began: time.Now()}
	p.elsewhere = number%2 == 1
	config := f.config
	config.Name, config.Journal, config.Elsewhere = m.name, p.journal, p.elsewhere
	var err error
	p.Host, err = cast.StartHost(context.Background(), config, cast.HostOptions{Log: base + ".log",
		Attributes: ownProcessGroup()})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", m.name, err)
	}
	f.processes = append(f.processes, p)
	m.mu.Lock()
	m.present = p
	m.mu.Unlock()
	return p, nil
}

// The ways in which the fleet ends a process.
const (
	killed  = "killed"
	stopped = "stopped"
)

// kill ends the process at once. The next one starts after the pause.
func (f *fleet) kill(m *member, down time.Duration) error {
	return f.end(m, down, killed, func(p *process) error { return p.Kill() })
}

// stop asks the process to end in good order. It is a fault if it does not.
func (f *fleet) stop(m *member, down time.Duration) error {
	return f.end(m, down, stopped, func(p *process) error {
		if err := p.Stop(); err != nil {
			f.fault(fmt.Sprintf("%s: %v", p.name, err))
		}
		return nil
	})
}

func (f *fleet) end(m *member, down time.Duration, how string, do func(*process) error) error {
	m.mu.Lock()
	p := m.present
	m.down = down
	m.mu.Unlock()
	select {
	case <-p.Done(): // it has ended, and the next one is being started
		return nil
	default:
	}
	p.mu.Lock()
	p.ended, p.at = how, time.Now()
	p.mu.Unlock()
	err := do(p)
	for m.current() == p { // the caller must find the next process
		select {
		case <-f.ending:
			return err
		case <-time.After(5 * time.Millisecond):
		}
	}
	return err
}

// current returns the member's process, which may have ended.
func (m *member) current() *process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.present
}

// pause stops the process for a while.
func (f *fleet) pause(ctx context.Context, m *member, long func(ctx context.Context)) error {
	p := m.current()
	p.mu.Lock()
	p.still = append(p.still, span{from: time.Now()})
	p.mu.Unlock()
	err := pause(p)
	if err == nil {
		long(ctx)
	}
	err = errors.Join(err, unpause(p))
	p.mu.Lock()
	p.still[len(p.still)-1].to = time.Now()
	p.mu.Unlock()
	return err
}

// finish stops all members in good order, and records which did not stop.
func (f *fleet) finish() {
	f.mu.Lock()
	close(f.ending)
	f.mu.Unlock()
	var all sync.WaitGroup
	for _, m := range f.members {
		all.Go(func() { _ = f.stop(m, 0) }) // that it did not end is among the faults
	}
	all.Wait()
	f.work.Wait()
}

// abandon kills all members.
func (f *fleet) abandon() {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.ending:
	default:
		close(f.ending)
	}
	for _, p := range f.processes {
		select {
		case <-p.Done():
		default:
			_ = unpause(p)
			_ = p.Kill() // it may have ended
		}
	}
}

// process returns the process with the number.
func (f *fleet) process(number int) *process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.processes[number]
}

// notes reads the notes of all processes.
func (f *fleet) notes() ([]note, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []note
	for _, p := range f.processes {
		some, err := readJournal(p.journal, p.number)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}
