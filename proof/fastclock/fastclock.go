// Package fastclock is a clock that runs faster than the machine's: leases run out and deadlines
// pass while a test can wait for them.
package fastclock

import "time"

// Clock is a lifecycle.Clock.
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
