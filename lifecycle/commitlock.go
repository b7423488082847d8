package lifecycle

import "sync"

// commitLock is a mutex that is held while a commit is stored, which takes as long as the store
// does. Who waits for it waits in a sync.Cond: a bubble of testing/synctest then knows that it
// waits, and lets the time pass in which the store answers. For a sync.Mutex it would stand still.
// The zero value is unlocked.
type commitLock struct {
	mu   sync.Mutex
	held bool // guarded by mu
	free sync.Cond
}

func (l *commitLock) Lock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free.L = &l.mu
	for l.held {
		l.free.Wait()
	}
	l.held = true
}

// TryLock takes the lock unless somebody holds it.
func (l *commitLock) TryLock() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		return false
	}
	l.held = true
	return true
}

func (l *commitLock) Unlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = false
	l.free.Signal()
}
