package node

import (
	"context"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/store"
)

type StoreClock struct {
	Store   store.Timekeeper
	Machine engine.Clock
}

func (c StoreClock) Now() time.Time { return c.Store.Now() }

func (c StoreClock) Timer(d time.Duration) (<-chan time.Time, func()) { return c.Machine.Timer(d) }

// StoreTime is the time as stores represent it: UTC, in microseconds.
func StoreTime(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// CommitTime is the current time, as a commit records it.
func CommitTime(c engine.Clock) time.Time { return StoreTime(c.Now()) }

// MonotonicNow is for measuring durations on this machine, independent of clock changes. It must not be
// stored or compared with stored times.
func MonotonicNow(c engine.Clock) time.Time {
	if c, ok := c.(StoreClock); ok { // the store's time may be corrected at any moment
		return c.Machine.Now()
	}
	return c.Now()
}

// Poller waits for a wake-up or the end of the poll interval. A wake-up does not restart the
// interval, so that frequent hints cannot delay a poll.
type Poller struct {
	Clock    engine.Clock
	Wake     <-chan struct{}
	Interval time.Duration

	tick    <-chan time.Time // of the interval's timer; nil: not started
	release func()           // releases the timer
}

// IntervalOver reports whether the last wait ended with the interval.
func (p *Poller) IntervalOver() bool { return p.tick == nil }

// Wait waits for a wake-up or the end of the interval. It returns ctx's error if ctx has ended.
func (p *Poller) Wait(ctx context.Context) error {
	if p.tick == nil {
		p.tick, p.release = p.Clock.Timer(p.Interval)
	}
	select {
	case <-p.Wake:
	case <-p.tick:
		p.Stop()
	case <-ctx.Done():
	}
	return ctx.Err()
}

func (p *Poller) Stop() {
	if p.tick != nil {
		p.release()
		p.tick = nil
	}
}
