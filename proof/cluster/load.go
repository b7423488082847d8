package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
)

// load submits the runs: at most a window of them at one time, and no larger part of them than the
// chaos allows.
type load struct {
	client *lifecycle.Client
	people *people
	ledger *ledger
	seed   uint64
	runs   int
	idle   bool // agents do not work
	// unfollowed: the events of the runs have no followers. If a failover loses the last events of a
	// run, a follower that has already read them would wait without end.
	unfollowed bool
	share      func() float64
	ended      func() bool // nothing more is submitted; nil: never

	mu    sync.Mutex
	stats lifecycle.Stats // guarded by mu; as of the last poll
}

// window is how many runs are active at one time, without the parked ones. It is more than there
// are slots.
const window = 400

// run submits all runs, and waits until the others than the parked ones have ended.
func (l *load) run(ctx context.Context) error {
	var work sync.WaitGroup
	defer work.Wait()
	next, waits := 0, 0
	for next < l.runs && ctx.Err() == nil && (l.ended == nil || !l.ended()) {
		active, err := l.pollActive(ctx)
		if err != nil {
			cast.Pause(ctx, unsureWait)
			continue
		}
		room := min(window-(active-waits), int(float64(l.runs)*l.share())+1-next, l.runs-next)
		var batch sync.WaitGroup
		limit := make(chan struct{}, 32)
		for range room {
			p := planFor(l.seed, next, l.idle)
			p.followed = p.followed && !l.unfollowed
			next++
			if p.kind == parked {
				waits++
			}
			limit <- struct{}{}
			batch.Go(func() {
				l.submit(ctx, p, &work)
				<-limit
			})
		}
		batch.Wait()
		cast.Pause(ctx, 40*time.Millisecond)
	}
	return ctx.Err()
}

// submit submits a run, and repeats that until it is known to be stored.
func (l *load) submit(ctx context.Context, p plan, work *sync.WaitGroup) {
	d := l.ledger.open(p)
	_ = l.people.insist(ctx, func(ctx context.Context) error { // the checks report a run that is not there
		_, err := l.client.Submit(ctx, p.spec)
		return err
	})
	l.ledger.submitted.Add(1)
	if p.kind == canceled {
		work.Go(func() {
			cast.Pause(ctx, p.cancelAt)
			l.people.cancel(ctx, d, "no longer needed")
		})
	}
	if p.followed {
		work.Go(func() { l.follow(ctx, d) })
	}
}

// follow reads a run's events as they happen, from the first to the last, whatever happens to the
// server. It reads again from the start if a failover has removed the last event that it read.
func (l *load) follow(ctx context.Context, d *dealing) {
	var after lifecycle.Cursor
	for ctx.Err() == nil {
		var failed error
		for e, err := range l.client.EventsAfter(ctx, d.plan.id, after) {
			if err != nil {
				failed = err
				break
			}
			after = e.Cursor()
			d.mu.Lock()
			d.followed = append(d.followed, e)
			d.mu.Unlock()
		}
		if failed == nil {
			return
		}
		if errors.Is(failed, lifecycle.ErrNotFound) {
			break
		}
		if errors.Is(failed, lifecycle.ErrCursorBeyondEnd) {
			after = lifecycle.Cursor{}
			d.mu.Lock()
			d.followed = nil
			d.mu.Unlock()
		}
		cast.Pause(ctx, unsureWait)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reader = fmt.Errorf("after event %s: %w", after, errors.Join(errors.New("the reader was not told of the end"),
		ctx.Err()))
}

// pollActive counts the runs that have not ended.
func (l *load) pollActive(ctx context.Context) (int, error) {
	within, done := context.WithTimeout(ctx, 5*time.Second)
	defer done()
	s, err := l.client.Stats(within)
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats = s
	return s.Queued + s.Running + s.Waiting, nil
}

// last returns the counts of the last poll.
func (l *load) last() lifecycle.Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}

// drain waits until no run is queued or running, and only parked runs wait. It gives up when
// nothing has changed for the patience.
func (l *load) drain(ctx context.Context, patience time.Duration) error {
	moved, before := time.Now(), -1
	for ctx.Err() == nil {
		active, err := l.pollActive(ctx)
		s := l.last()
		if err == nil && s.Queued+s.Running == 0 {
			if waiting, err := l.waiting(ctx); err == nil && waiting == s.Waiting {
				return nil
			}
		}
		switch {
		case err == nil && active != before:
			moved, before = time.Now(), active
		case time.Since(moved) > patience:
			return fmt.Errorf("nothing has moved for %s: %d queued, %d running, %d waiting", patience, s.Queued,
				s.Running, s.Waiting)
		}
		cast.Pause(ctx, 50*time.Millisecond)
	}
	return ctx.Err()
}

// waiting counts the waiting runs if all of them are parked ones; otherwise it returns -1.
func (l *load) waiting(ctx context.Context) (n int, _ error) {
	for open, err := range cast.Questions(ctx, l.client) {
		if err != nil {
			return 0, err
		}
		if d := l.ledger.of(open.RunID); d != nil && !d.waits() {
			return -1, nil
		}
		n++
	}
	return n, nil
}
