package cast

import (
	"context"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// Clock is a lifecycle.Clock that runs faster than the machine's, so that leases end and deadlines
// pass while a proof can wait for them.
type Clock struct {
	Start  time.Time     // when the clock starts, by the machine's clock; the same in all processes
	First  time.Time     // the time that it shows at Start; Start when zero
	Factor time.Duration // how many times faster it runs
}

// Now returns the first time plus the time since Start, multiplied by Factor.
func (c Clock) Now() time.Time {
	first := c.First
	if first.IsZero() {
		first = c.Start
	}
	return first.Add(time.Since(c.Start) * c.Factor) //nolint:durationcheck // Factor is a count
}

// Timer fires when d has passed on this clock.
func (c Clock) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d / c.Factor)
	return t.C, func() { t.Stop() }
}

// Pause waits for d on the machine's clock, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) { PauseOn(ctx, lifecycle.SystemClock{}, d) }

// PauseOn waits for d on a clock, or until ctx ends.
func PauseOn(ctx context.Context, c lifecycle.Clock, d time.Duration) {
	tick, stop := c.Timer(d)
	defer stop()
	select {
	case <-tick:
	case <-ctx.Done():
	}
}
