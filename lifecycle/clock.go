package lifecycle

import (
	"context"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/store"
)

// Clock tells the time and waits for it. Now must not go back by more than the length of a lease;
// event times never go back within a run even if it does.
//
// All processes on one store must agree on the time to within a lease, or deadlines fire early and
// silent nodes are taken over late. Where the store is a store.Timekeeper they do, if nobody sets a
// Clock: they take the time from the store.
type Clock = engine.Clock

// SystemClock is the operating system's clock.
type SystemClock struct{}

// Now returns time.Now.
func (SystemClock) Now() time.Time { return time.Now() }

// Timer returns the channel of a time.Timer.
func (SystemClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// storeClock has the store's time. Its timers run on this machine.
type storeClock struct {
	store   store.Timekeeper
	machine Clock
}

func (c storeClock) Now() time.Time { return c.store.Now() }

func (c storeClock) Timer(d time.Duration) (<-chan time.Time, func()) { return c.machine.Timer(d) }

// clockOf is the clock that is used with a store unless another one is configured.
func clockOf(s store.Store) Clock {
	if k, ok := s.(store.Timekeeper); ok {
		return storeClock{k, SystemClock{}}
	}
	return SystemClock{}
}

// storeTime is the time as every store represents it: UTC, in microseconds.
func storeTime(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// commitTime is the present time, as a commit records it.
func commitTime(c Clock) time.Time { return storeTime(c.Now()) }

// monotonicNow is for measuring how long something takes on this machine. With the system's clock
// it has a monotonic reading, which nobody can set. It must not be stored or compared with a stored
// time.
func monotonicNow(c Clock) time.Time {
	if c, ok := c.(storeClock); ok { // the store's time may be corrected at any moment
		return c.machine.Now()
	}
	return c.Now()
}

// leaseTime is the time by which leases are judged: the store's own where it has one, even if the
// host configured another clock.
func (c *Client) leaseTime() time.Time {
	if k, ok := c.store.(store.Timekeeper); ok {
		return storeTime(k.Now())
	}
	return commitTime(c.clock)
}

// poller waits for a wake-up, or until the poll interval is over. A wake-up does not start the
// interval again, so that frequent hints cannot put off a poll.
type poller struct {
	clock    Clock
	wake     <-chan struct{}
	interval time.Duration
	tick     <-chan time.Time // of the interval's timer; nil: no interval has started
	release  func()           // releases the timer
}

// intervalOver reports whether the last wait ended with the interval.
func (p *poller) intervalOver() bool { return p.tick == nil }

// wait waits for a wake-up or the end of the interval. It returns ctx's error if ctx has ended.
func (p *poller) wait(ctx context.Context) error {
	if p.tick == nil {
		p.tick, p.release = p.clock.Timer(p.interval)
	}
	select {
	case <-p.wake:
	case <-p.tick:
		p.stop()
	case <-ctx.Done():
	}
	return ctx.Err()
}

// stop releases the timer.
func (p *poller) stop() {
	if p.tick != nil {
		p.release()
		p.tick = nil
	}
}

// sleep waits for d. It returns ctx's error if that ends first.
func (c *Client) sleep(ctx context.Context, d time.Duration) error {
	tick, stop := c.clock.Timer(d)
	defer stop()
	select {
	case <-tick:
	case <-ctx.Done():
	}
	return ctx.Err()
}
