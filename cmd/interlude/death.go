package main

import (
	"context"
	"os"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// The values of -kill.
const (
	killParked  = "parked"
	killRunning = "running"
)

// death implements -kill. The agent dies with the program: on Linux by the same signal, elsewhere
// the next start ends its processes.
type death struct {
	when string
	// now receives a value in the middle of a turn, which then stops.
	now chan struct{}
	// modeled: the scripted model chooses the moment. Otherwise it is when the agent's first
	// message is stored.
	modeled bool
}

func newDeath(when string) *death { return &death{when: when, now: make(chan struct{}, 1)} }

func (d *death) strike() {
	select {
	case d.now <- struct{}{}:
	default:
	}
}

// store returns the program's store, which with -kill running stops a turn in its middle.
func (d *death) store(s *sqlite.Store) store.Store {
	if d.when != killRunning || d.modeled {
		return s
	}
	return deadly{s, s, d}
}

// deadly stores the agent's first message and never returns from that commit.
type deadly struct {
	store.Store
	store.Watcher
	death *death
}

func (s deadly) Commit(ctx context.Context, batch []store.Commit) []error {
	errs := s.Store.Commit(ctx, batch)
	for i, c := range batch {
		for _, stored := range c.Events {
			if e, err := fcmp.Decode(stored.Body); err == nil && errs[i] == nil &&
				e.Type == fcmp.TypeMessageIntermediate {
				s.death.strike()
				<-ctx.Done()
			}
		}
	}
	return errs
}

// die is kill -9: no deferred call, signal handler or acknowledgement follows.
func die() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {}
}
