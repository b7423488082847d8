package lifecycle

import "time"

// Clock tells the time and waits for it. It must be safe for concurrent use. Now must not go back by more
// than the length of a lease; event times never go back within a run even if it does.
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

// stamp is the clock's time as stores keep it: UTC, in microseconds.
func stamp(c Clock) time.Time { return c.Now().UTC().Truncate(time.Microsecond) }
