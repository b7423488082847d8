package main

import (
	"context"
	"os"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// When -kill kills.
const (
	killParked  = "parked"
	killRunning = "running"
)

// death is how -kill ends the program. The agent dies with it: on Linux by the same signal,
// elsewhere the next start ends what is left of it.
type death struct {
	when string
	// now receives a value when a turn is in its middle; the turn does not go on from there.
	now chan struct{}
	// modeled: the scripted model decides when that is. Otherwise it is when the agent's first
	// message is stored.
	modeled bool
}

func newDeath(when string) *death { return &death{when: when, now: make(chan struct{}, 1)} }

// strike says that the turn is in its middle.
func (d *death) strike() {
	select {
	case d.now <- struct{}{}:
	default:
	}
}

// store is the store of the program. With -kill running it stops a turn in its middle.
func (d *death) store(s *sqlite.Store) store.Store {
	if d.when != killRunning || d.modeled {
		return s
	}
	return deadly{s, s, d}
}

// deadly is a store that stores the agent's first message, and never returns from it.
type deadly struct {
	store.Store
	store.Watcher
	death *death
}

// Commit stores the batch.
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

// die is kill -9: no deferred call, no signal handler and no acknowledgement comes after it.
func die() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {}
}
