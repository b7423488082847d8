package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
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
	busy    bool          // guarded by mu; a disturbance of it goes on
}

// process is one process of a member.
type process struct {
	number    int
	name      string
	elsewhere bool
	journal   string
	log       string
	began     time.Time
	cmd       *exec.Cmd
	input     io.Closer
	done      chan struct{}

	mu    sync.Mutex
	ended string    // guarded by mu; how it was ended: "killed", "stopped", ""
	at    time.Time // guarded by mu; when
	still []span    // guarded by mu; when it was paused
}

// span is the time between two moments. A span that goes on has no end.
type span struct{ from, to time.Time }

func newFleet(dir string, config nodeConfig, nodes int) *fleet {
	f := &fleet{dir: dir, config: config, ending: make(chan struct{})}
	for i := range nodes {
		f.members = append(f.members, &member{name: fmt.Sprintf("node-%d", i+1)})
	}
	return f
}

// start starts all members. It fails if one of them cannot be started.
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
		err := p.cmd.Wait()
		close(p.done)
		_ = p.input.Close() // it may be closed already
		p.mu.Lock()
		how := p.ended
		p.mu.Unlock()
		var exit *exec.ExitError
		if how == "" || how == stopped && errors.As(err, &exit) && exit.ExitCode() > 0 {
			f.fault(fmt.Sprintf("%s ended by itself: %v: %s", p.name, err, lastLines(p.log)))
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
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.ending:
		return nil, errEnding
	default:
	}
	number := len(f.processes)
	base := filepath.Join(f.dir, fmt.Sprintf("%s-%d", m.name, number))
	p := &process{number: number, name: m.name, journal: base + ".journal", log: base + ".log", began: time.Now(),
		done: make(chan struct{})}
	p.elsewhere = number%2 == 1
	config := f.config
	config.Name, config.Journal, config.Elsewhere = m.name, p.journal, p.elsewhere
	told, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd = exec.Command(self) //nolint:noctx // the fleet ends it
	p.cmd.Env = append(os.Environ(), nodeVariable+"="+string(told))
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	ownProcessGroup(p.cmd)
	if err := p.cmd.Start(); err != nil {
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
	return f.end(m, down, killed, func(p *process) error { return p.cmd.Process.Kill() })
}

// stop asks the process to end in good order, and kills it if it has not after a minute.
func (f *fleet) stop(m *member, down time.Duration) error {
	return f.end(m, down, stopped, func(p *process) error {
		err := p.terminate()
		select {
		case <-p.done:
		case <-time.After(time.Minute):
			f.fault(fmt.Sprintf("%s did not end within a minute: %s", p.name, lastLines(p.log)))
			err = p.cmd.Process.Kill()
		}
		return err
	})
}

func (f *fleet) end(m *member, down time.Duration, how string, do func(*process) error) error {
	m.mu.Lock()
	p := m.present
	m.down = down
	m.mu.Unlock()
	select {
	case <-p.done: // it has ended, and the next one is being started
		return nil
	default:
	}
	p.mu.Lock()
	p.ended, p.at = how, time.Now()
	p.mu.Unlock()
	err := do(p)
	<-p.done
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
	err := pause(p.cmd)
	if err == nil {
		long(ctx)
	}
	err = errors.Join(err, unpause(p.cmd))
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
		p := m.current()
		all.Go(func() {
			_ = f.stop(m, 0) // that it did not end is among the faults
			<-p.done
		})
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
		case <-p.done:
		default:
			_ = unpause(p.cmd)
			_ = p.cmd.Process.Kill()
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

// lastLines returns the end of a process's log.
func lastLines(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}
