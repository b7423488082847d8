package simulate

import (
	"slices"
	"time"
)

// clock is the time as one process tells it.
type clock struct{ view *view }

// Now implements lifecycle.Clock.
func (c clock) Now() time.Time { return time.Now().Add(c.view.skew) }

// timer is somebody's wish to be woken.
type timer struct {
	due    time.Time
	c      chan time.Time // not buffered: it is fired only while somebody waits for it and nothing else
	missed int            // the step at which nobody waited for it
}

// Timer implements lifecycle.Clock. Timers are fired by the scheduler, all that a process has due at one time: so no select of the
// library ever has to choose between a timer and something else, which no seed could decide.
func (c clock) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := &timer{due: time.Now().Add(d), c: make(chan time.Time), missed: -1}
	v := c.view
	v.world.mu.Lock()
	defer v.world.mu.Unlock()
	v.timers = append(v.timers, t)
	return t.c, func() {
		v.world.mu.Lock()
		defer v.world.mu.Unlock()
		if i := slices.Index(v.timers, t); i >= 0 {
			v.timers = slices.Delete(v.timers, i, i+1)
		}
	}
}

// rest waits for as long as d, and reports whether it did.
func (v *view) rest(done <-chan struct{}, d time.Duration) bool {
	tick, stop := clock{v}.Timer(d)
	defer stop()
	select {
	case <-tick:
		return true
	case <-done:
		return false
	}
}

// ticks reports whether a timer of the view may be fired. The processes of the dead wait for nothing.
func (v *view) ticks(now time.Time) bool {
	for _, t := range v.timers {
		if (v.dead || !t.due.After(now)) && t.missed < v.touched {
			return true
		}
	}
	return false
}

// tick fires what is due, and returns how many timers that were.
func (v *view) tick(now time.Time, step int) (fired int) {
	v.world.mu.Lock()
	due := slices.Clone(v.timers)
	v.world.mu.Unlock()
	for _, t := range due {
		if !v.dead && t.due.After(now) {
			continue
		}
		select {
		case t.c <- clock{v}.Now():
			fired++
			v.world.mu.Lock()
			if i := slices.Index(v.timers, t); i >= 0 {
				v.timers = slices.Delete(v.timers, i, i+1)
			}
			v.world.mu.Unlock()
		default:
			t.missed = step
		}
	}
	return fired
}

// next is when the first timer of the view falls due; zero when it has none ahead.
func (v *view) next(now time.Time) (first time.Time) {
	for _, t := range v.timers {
		if t.due.After(now) && (first.IsZero() || t.due.Before(first)) {
			first = t.due
		}
	}
	return first
}
