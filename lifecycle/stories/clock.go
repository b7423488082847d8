package stories

import (
	"cmp"
	"slices"
	"sync"
	"testing/synctest"
	"time"
)

// clock is one process's lifecycle.Clock. Time advances only when the story says so.
type clock struct {
	timers *timers
	conn   *connection
}

// Now implements lifecycle.Clock.
func (clock) Now() time.Time { return time.Now() }

// Timer implements lifecycle.Clock.
func (c clock) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := &timer{conn: c.conn, due: time.Now().Add(d), d: d, c: make(chan time.Time, 1)}
	c.timers.add(t)
	return t.c, func() { c.timers.remove(t) }
}

type timer struct {
	conn *connection
	due  time.Time
	d    time.Duration
	c    chan time.Time
}

// timers are the timers of all processes. They fire one by one, each after all processes have
// settled, so that simultaneous timers have an order: the one set for the shorter time first, then
// the one set earlier.
type timers struct {
	mu    sync.Mutex
	all   []*timer // guarded by mu; in the order in which they were set
	freed bool     // guarded by mu; the story is over, and timers go off by themselves
}

func (ts *timers) add(t *timer) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.all = append(ts.all, t)
	if ts.freed {
		time.AfterFunc(t.d, t.fire)
	}
}

func (ts *timers) remove(t *timer) {
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

// next is the timer that goes off first, not after the limit; nil if none does. A paused process's
// timers wait until it is resumed.
func (ts *timers) next(limit time.Time) *timer {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	var first *timer
	for _, t := range ts.all {
		if t.due.After(limit) || t.conn.isPaused() {
			continue
		}
		if first == nil || cmp.Or(t.due.Compare(first.due), cmp.Compare(t.d, first.d)) < 0 {
			first = t
		}
	}
	return first
}

// advance lets time pass, and waits until all processes have settled.
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
		ts.remove(t)
		t.fire()
	}
	time.Sleep(time.Until(end)) // the story's time
	synctest.Wait()
}

// free lets timers go off by themselves, for processes that are ending.
func (ts *timers) free() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.freed = true
	for _, t := range ts.all {
		time.AfterFunc(time.Until(t.due), t.fire)
	}
}
