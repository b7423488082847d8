package node

import "sync"

// CommitLock is a mutex that may be held while a commit is stored. It uses a sync.Cond for tests with
// a slow store: testing/synctest advances time while goroutines wait on a Cond, but not on a Mutex.
//
// The holder may lend it to code that may never return; Revoke takes it from the borrower.
type CommitLock struct {
	mu   sync.Mutex
	held bool // guarded by mu
	lent bool // guarded by mu; only while held
	free sync.Cond
}

func (l *CommitLock) Lock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free.L = &l.mu
	for l.held {
		l.free.Wait()
	}
	l.held = true
}

func (l *CommitLock) TryLock() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		return false
	}
	l.held = true
	return true
}

// Unlock releases the lock, which the caller holds.
func (l *CommitLock) Unlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = false
	l.free.Signal()
}

// Lend lends the lock, which the caller holds.
func (l *CommitLock) Lend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lent = true
}

// Reclaim ends the loan: the lender holds the lock again, unless it was revoked.
func (l *CommitLock) Reclaim() (holds bool) { return l.endLoan() }

// Revoke takes the lock if it is lent, and reports whether the caller holds it.
func (l *CommitLock) Revoke() (holds bool) { return l.endLoan() }

func (l *CommitLock) endLoan() (was bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was, l.lent = l.lent, false
	return was
}
