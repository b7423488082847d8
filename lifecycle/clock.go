package lifecycle

import (
	"context"
	"time"

	"github.com/interlude-go/interlude/store"
)

// Clock tells the time and waits for it. It must be safe for concurrent use. Now must not go back
// by more than the length of a lease; event times never go back within a run even if it does.
//
// All processes on one store must agree on the time to within a lease, or deadlines fire early and
// silent nodes are taken over late. Where the store is a store.Timekeeper they do, if nobody sets a
// Clock: they take the time from the store.
type Clock interface {
	// Now returns the present time.
	Now() time.Time
	// Timer returns a channel that receives once after d, and a function that releases the timer.
	Timer(d time.Duration) (c <-chan time.Time, stop func())
}

// SystemClock is the operating system's clock.
type SystemClock struct{}

// Now returns time.Now.
func (SystemClock) Now() time.Time { return time.Now() }

// Timer returns the channel of a time.Timer.
func (SystemClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// storeClock tells the store's time. How long something takes, it measures on this machine.
type storeClock struct {
	store   store.Timekeeper
	machine Clock
}

func (c storeClock) Now() time.Time { return c.store.Now() }

func (c storeClock) Timer(d time.Duration) (<-chan time.Time, func()) { return c.machine.Timer(d) }

// clockOf is the clock for a store when nobody gave one.
func clockOf(s store.Store) Clock {
	if k, ok := s.(store.Timekeeper); ok {
		return storeClock{k, SystemClock{}}
	}
	return SystemClock{}
}

// storeTime is the time as stores keep it: UTC, in microseconds.
func storeTime(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// commitTime is the clock's time as stores keep it.
func commitTime(c Clock) time.Time { return storeTime(c.Now()) }

// notEarlier is the time, but no earlier than what happened to the run last: a node's clock may lag
// behind another's, and a run's time does not go back.
func notEarlier(now, last time.Time) time.Time {
	if now.Before(last) {
		return last
	}
	return now
}

// monotonicNow is a time to measure from how long something takes. It is not for keeping, and not
// for comparing with what the store keeps: with the system's clock, what is left of it is not
// touched when somebody sets that clock.
func monotonicNow(c Clock) time.Time {
	if c, ok := c.(storeClock); ok { // the store's time may be corrected while it goes
		return c.machine.Now()
	}
	return c.Now()
}

// leaseTime is the time that leases are judged by: the store's own where it has one, whatever clock
// the host gave.
func (c *Client) leaseTime() time.Time {
	if k, ok := c.store.(store.Timekeeper); ok {
		return storeTime(k.Now())
	}
	return commitTime(c.clock)
}

// poller waits for a wake-up, but never longer than d without a look. It keeps its timer from
// wake-up to wake-up.
type poller struct {
	clock    Clock
	wake     <-chan struct{}
	interval time.Duration
	tick     <-chan time.Time
	release  func()
}

func (i *poller) wait(ctx context.Context) error {
	if i.tick == nil {
		i.tick, i.release = i.clock.Timer(i.interval)
	}
	select {
	case <-i.wake:
	case <-i.tick:
		i.stop()
	case <-ctx.Done():
	}
	return ctx.Err()
}

// stop releases the timer.
func (i *poller) stop() {
	if i.tick != nil {
		i.release()
		i.tick = nil
	}
}

// sleep waits for as long as d; its error says that ctx ended.
func (c *Client) sleep(ctx context.Context, d time.Duration) error {
	tick, stop := c.clock.Timer(d)
	defer stop()
	select {
	case <-tick:
	case <-ctx.Done():
	}
	return ctx.Err()
}
