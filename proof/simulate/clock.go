package simulate

import (
	"cmp"
	"runtime"
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
	since  int            // the step in which it was made
	asker  [6]uintptr     // who asked for it: the code
	c      chan time.Time // not buffered: it is fired only while somebody waits for it and nothing else
	missed int            // the step at which nobody waited for it
}

// compare orders the timers of one process, however its goroutines were scheduled. Timers that are
// equal are fired together.
func (t *timer) compare(o *timer) int {
	return cmp.Or(t.due.Compare(o.due), cmp.Compare(t.since, o.since), slices.Compare(t.asker[:], o.asker[:]))
}

// Timer implements lifecycle.Clock. Timers are fired by the scheduler, one at a time and only for
// somebody who waits: so no select of the library ever has to choose between a timer and something
// else, which no seed could decide.
func (c clock) Timer(d time.Duration) (<-chan time.Time, func()) {
	v, w := c.view, c.view.world
	t := &timer{due: time.Now().Add(d), c: make(chan time.Time), missed: -1}
	runtime.Callers(2, t.asker[:])
	w.mu.Lock()
	defer w.mu.Unlock()
	t.since = w.step
	i, _ := slices.BinarySearchFunc(v.timers, t, (*timer).compare)
	v.timers = slices.Insert(v.timers, i, t)
	return t.c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		v.forget(t)
	}
}

// forget takes a timer off the list. The caller holds the world's lock.
func (v *view) forget(t *timer) {
	if i := slices.Index(v.timers, t); i >= 0 {
		v.timers = slices.Delete(v.timers, i, i+1)
	}
}

// beat is what all who act in a world of one rhythm keep to.
const beat = 5 * time.Second

// rest waits for as long as d, and reports whether it did. In a world of one rhythm it goes on to
// the next beat, so that people, agents and deadlines meet far oftener than by chance.
func (v *view) rest(done <-chan struct{}, d time.Duration) bool {
	if v.world.plan.rhythm {
		d += beat - time.Since(epoch.Add(-d))%beat
	}
	tick, stop := clock{v}.Timer(d)
	defer stop()
	select {
	case <-tick:
		return true
	case <-done:
		return false
	}
}

// ticks reports whether a timer of the view may be fired.
func (v *view) ticks(now time.Time) bool {
	for _, t := range v.timers {
		if !t.due.After(now) && t.missed < v.touched {
			return true
		}
	}
	return false
}

// tick fires the first timer that is due and that somebody waits for, and reports whether there was
// one.
func (v *view) tick(now time.Time, step int) bool {
	w := v.world
	w.mu.Lock()
	defer w.mu.Unlock()
	var fired *timer
	for _, t := range slices.Clone(v.timers) {
		if t.due.After(now) || fired != nil && t.compare(fired) != 0 {
			break
		}
		select {
		case t.c <- clock{v}.Now():
			fired = t
			v.forget(t)
		default:
			t.missed = step
		}
	}
	return fired != nil
}

// next is when the next timer of the view falls due; zero when it has none ahead.
func (v *view) next(now time.Time) time.Time {
	for _, t := range v.timers {
		if t.due.After(now) {
			return t.due
		}
	}
	return time.Time{}
}
