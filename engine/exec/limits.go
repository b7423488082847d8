package exec

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/interlude-go/interlude/engine/process"
)

// errLimit is why the engine itself ended a turn.
type errLimit struct{ what string }

func (e errLimit) Error() string { return "exec: " + e.what }

// errLingers is why the engine ended a process that went on after its turn.
var errLingers = errors.New("exec: the agent said that its turn is over, and did not end")

// bound ends the process when the turn is canceled or exceeds a limit, until stop is called.
func (r *reading) bound(ctx context.Context, p *process.Process) (stop func()) {
	done := make(chan struct{})
	exceeded := make(chan error, 1)
	timer := func(d time.Duration, why error) *time.Timer {
		if d == 0 {
			return nil
		}
		return time.AfterFunc(d, func() {
			select {
			case exceeded <- why:
			default: // one is enough
			}
		})
	}
	wall := timer(r.cfg.TurnLimit, errLimit{"the turn exceeded its limit of " + r.cfg.TurnLimit.String()})
	r.idle = timer(r.cfg.IdleLimit, errLimit{"no output for " + r.cfg.IdleLimit.String()})
	var linger *time.Timer
	if !r.cfg.Resident {
		r.over = func() { linger = timer(r.cfg.Grace, errLingers) }
	}
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-ctx.Done():
		case err := <-exceeded:
			r.mu.Lock()
			r.limited = err
			r.mu.Unlock()
		case <-done:
			return
		}
		p.End()
	})
	return func() {
		close(done)
		watch.Wait()
		for _, t := range []*time.Timer{wall, r.idle, linger} {
			if t != nil {
				t.Stop()
			}
		}
	}
}

func (r *reading) limit() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.limited
}
