package scenario_test

import (
	"cmp"
	"slices"
	"sync"
	"testing/synctest"
	"time"
)

// clock is the story's time as one process tells it.
type clock struct {
	timers *timers
	view   *view
}

// Now implements lifecycle.Clock.
func (clock) Now() time.Time { return time.Now() }

// Timer implements lifecycle.Clock.
func (c clock) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := &timer{view: c.view, due: time.Now().Add(d), d: d, c: make(chan time.Time, 1)}
	c.timers.set(t)
	return t.c, func() { c.timers.take(t) }
}

// timer is somebody's wish to be woken.
type timer struct {
	view *view
	due  time.Time
	d    time.Duration
	c    chan time.Time
}

// timers are those of all processes. They go off one after the other, each when all is quiet, so
// that what falls on one moment has an order: the one that was set for the shorter time comes
// first, and of equal ones the one that was set first.
type timers struct {
	mu    sync.Mutex
	all   []*timer // guarded by mu; in the order in which they were set
	freed bool     // guarded by mu; the story is over, and time passes as it does
}

func (ts *timers) set(t *timer) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.all = append(ts.all, t)
	if ts.freed {
		time.AfterFunc(t.d, t.fire)
	}
}

func (ts *timers) take(t *timer) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.all = slices.DeleteFunc(ts.all, func(o *timer) bool { return o == t })
}

func (t *timer) fire() {
	select {
	case t.c <- time.Now():
	default:
	}
}

// next is the timer that goes off first, by then; nil when none does. Those of a process that
// stands still wait for it.
func (ts *timers) next(by time.Time) *timer {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	var first *timer
	for _, t := range ts.all {
		t.view.mu.Lock()
		asleep := t.view.awake != nil
		t.view.mu.Unlock()
		if asleep || t.due.After(by) {
			continue
		}
		if first == nil || cmp.Or(t.due.Compare(first.due), cmp.Compare(t.d, first.d)) < 0 {
			first = t
		}
	}
	return first
}

// advance lets time pass.
func (ts *timers) advance(d time.Duration) {
	end := time.Now().Add(d)
	for {
		synctest.Wait()
		t := ts.next(end)
		if t == nil {
			break
		}
		time.Sleep(time.Until(t.due)) // the story's time
		synctest.Wait()
		ts.take(t)
		t.fire()
	}
	time.Sleep(time.Until(end)) // the story's time
	synctest.Wait()
}

// free lets time pass by itself, for those who come to their end.
func (ts *timers) free() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.freed = true
	for _, t := range ts.all {
		time.AfterFunc(time.Until(t.due), t.fire)
	}
}
