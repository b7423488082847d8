package simulate

import (
	"cmp"
	"runtime"
	"slices"
	"time"
)

// clock is the clock of one process.
type clock struct{ view *view }

// Now implements lifecycle.Clock.
func (c clock) Now() time.Time { return time.Now().Add(c.view.skew) }

// timer is one call of Clock.Timer.
type timer struct {
	due    time.Time
	since  int            // the step in which the timer was made
	asker  [6]uintptr     // the call stack of the code that made it
	c      chan time.Time // not buffered, so the timer fires only while a goroutine waits for it
	missed int            // the last step at which the timer was due and no goroutine waited
}

// compare orders the timers of one process independently of how its goroutines were scheduled.
// Timers that are equal fire together.
func (t *timer) compare(o *timer) int {
	return cmp.Or(t.due.Compare(o.due), cmp.Compare(t.since, o.since), slices.Compare(t.asker[:], o.asker[:]))
}

// Timer implements lifecycle.Clock. The scheduler fires one timer at a time, and only while a
// goroutine waits for it. A select of the library thus never has to choose between a timer and
// another case, a choice that no seed could decide.
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

// forget removes a timer from the list. The caller holds the world's lock.
func (v *view) forget(t *timer) {
	if i := slices.Index(v.timers, t); i >= 0 {
		v.timers = slices.Delete(v.timers, i, i+1)
	}
}

// beat is the interval on which people, agents and deadlines act in a world with rhythm.
const beat = 5 * time.Second

// rest waits for the duration, and returns false if done ends first. In a world with rhythm it
// waits until the next beat after that, so that people, agents and deadlines meet much more often
// than by chance.
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

// ticks reports whether a timer of the view may fire.
func (v *view) ticks(now time.Time) bool {
	for _, t := range v.timers {
		if !t.due.After(now) && t.missed < v.touched {
			return true
		}
	}
	return false
}

// tick fires the first timer that is due and that a goroutine waits for, and reports whether there
// was one.
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

// next returns when the next timer of the view falls due, or zero.
func (v *view) next(now time.Time) time.Time {
	for _, t := range v.timers {
		if t.due.After(now) {
			return t.due
		}
	}
	return time.Time{}
}
