package notify

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Memory is a Queue for tests, and for hosts whose runs are in memory too. What it has is lost with
// the process, though the feeds have passed it.
type Memory struct {
	mu      sync.Mutex
	notices map[string]map[Key]*stored // guarded by mu; by endpoint
}

// stored is a notice in memory.
type stored struct {
	DeadLetter // its Attempts count, and its Died is zero while it is pending

	added, due time.Time
}

// NewMemory returns an empty queue.
func NewMemory() *Memory { return &Memory{notices: make(map[string]map[Key]*stored)} }

// Add is described at Queue.
func (m *Memory) Add(_ context.Context, endpoint string, entries []Entry, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.notices[endpoint] == nil {
		m.notices[endpoint] = make(map[Key]*stored)
	}
	for _, e := range entries {
		if old := m.notices[endpoint][e.Key()]; old == nil || !bytes.Equal(old.Body, e.Body) {
			m.notices[endpoint][e.Key()] = &stored{DeadLetter: DeadLetter{Entry: e}, added: now, due: now}
		}
	}
	return nil
}

// Claim is described at Queue.
func (m *Memory) Claim(_ context.Context, endpoint string, now, until time.Time, n int) (claimed []Claimed,
	next time.Time, _ error,
) {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := make(map[string]*stored) // the pending notice with the lowest number, by run
	for _, s := range m.notices[endpoint] {
		if f := first[s.RunID]; s.Died.IsZero() && (f == nil || s.Seq < f.Seq) {
			first[s.RunID] = s
		}
	}
	all := make([]*stored, 0, len(first))
	for _, s := range first {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *stored) int {
		return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.RunID, b.RunID))
	})
	for _, s := range all {
		if len(claimed) < n && !s.due.After(now) {
			s.due = until
			s.Attempts++
			claimed = append(claimed, Claimed{Entry: s.Entry, Attempt: s.Attempts})
		}
		if next.IsZero() || s.due.Before(next) {
			next = s.due
		}
	}
	return claimed, next, nil
}

// Remove is described at Queue.
func (m *Memory) Remove(_ context.Context, endpoint string, key Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.notices[endpoint], key)
	return nil
}

// Retry is described at Queue.
func (m *Memory) Retry(_ context.Context, endpoint string, c Claimed, at time.Time, reason string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.claimed(endpoint, c); s != nil {
		s.due, s.Reason = at, reason
	}
	return nil
}

// Bury is described at Queue.
func (m *Memory) Bury(_ context.Context, endpoint string, c Claimed, now time.Time, reason string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.claimed(endpoint, c); s != nil {
		s.Died, s.Reason = now, reason
	}
	return nil
}

// claimed returns the notice if the claim is still its last one.
func (m *Memory) claimed(endpoint string, c Claimed) *stored {
	s := m.notices[endpoint][c.Key()]
	if s == nil || !s.Died.IsZero() || s.Attempts != c.Attempt {
		return nil
	}
	return s
}

// Dead is described at Queue.
func (m *Memory) Dead(_ context.Context, endpoint string, after Key, limit int) (dead []DeadLetter, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, s := range m.notices[endpoint] {
		if !s.Died.IsZero() && after.less(key) {
			dead = append(dead, s.DeadLetter)
		}
	}
	slices.SortFunc(dead, func(a, b DeadLetter) int {
		return cmp.Or(cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.Seq, b.Seq))
	})
	return dead[:min(len(dead), limit)], nil
}

// Revive is described at Queue.
func (m *Memory) Revive(_ context.Context, endpoint string, key Key, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.notices[endpoint][key]
	if s == nil || s.Died.IsZero() {
		return ErrNoDeadLetter
	}
	s.Died, s.due, s.Attempts = time.Time{}, now, 0
	return nil
}

// Count is described at Queue.
func (m *Memory) Count(_ context.Context, endpoint string) (c Count, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	runs := make(map[string]bool)
	for _, s := range m.notices[endpoint] {
		if !s.Died.IsZero() {
			c.Dead++
			continue
		}
		c.Pending++
		runs[s.RunID] = true
		if c.Oldest.IsZero() || s.added.Before(c.Oldest) {
			c.Oldest = s.added
		}
	}
	c.Runs = len(runs)
	return c, nil
}

// Clear is described at Queue.
func (m *Memory) Clear(_ context.Context, endpoint string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.notices, endpoint)
	return nil
}
