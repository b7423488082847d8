package notify

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"
)

// Memory is a Queue for tests, and for hosts whose runs are also in memory. Its contents are lost
// on exit, even if the feeds have acknowledged them.
type Memory struct {
	mu     sync.Mutex
	queues map[string]*memoryQueue // guarded by mu; by endpoint
}

type memoryQueue struct {
	notices map[Key]*stored
	runs    map[string]*pendingRun // with pending notices
	next    nextRuns
}

type pendingRun struct {
	id      string
	notices []*stored
	place   int // in nextRuns
}

// nextRuns is a heap of runs by the due times of their first pending notices.
type nextRuns []*pendingRun

func (h nextRuns) Len() int { return len(h) }

func (h nextRuns) Less(i, j int) bool {
	return cmp.Or(h[i].notices[0].due.Compare(h[j].notices[0].due), cmp.Compare(h[i].id, h[j].id)) < 0
}

func (h nextRuns) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *nextRuns) Push(run any) {
	r := run.(*pendingRun) //nolint:forcetypeassert // the heap's only type
	r.place = len(*h)
	*h = append(*h, r)
}

func (h *nextRuns) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return r
}

func (q *memoryQueue) enqueue(s *stored) {
	r := q.runs[s.RunID]
	if r == nil {
		r = &pendingRun{id: s.RunID, notices: []*stored{s}}
		q.runs[s.RunID] = r
		heap.Push(&q.next, r)
		return
	}
	i, _ := r.find(s)
	r.notices = slices.Insert(r.notices, i, s)
	heap.Fix(&q.next, r.place)
}

func (q *memoryQueue) dequeue(s *stored) {
	r := q.runs[s.RunID]
	if r == nil {
		return
	}
	i, found := r.find(s)
	switch {
	case !found:
	case len(r.notices) == 1:
		heap.Remove(&q.next, r.place)
		delete(q.runs, s.RunID)
	default:
		r.notices = slices.Delete(r.notices, i, i+1)
		heap.Fix(&q.next, r.place)
	}
}

func (r *pendingRun) find(s *stored) (int, bool) {
	return slices.BinarySearchFunc(r.notices, s, func(a, b *stored) int { return cmp.Compare(a.Seq, b.Seq) })
}

type stored struct {
	DeadLetter // its Attempts count, and its Died is zero while it is pending

	added, due time.Time
}

func NewMemory() *Memory { return &Memory{queues: make(map[string]*memoryQueue)} }

func (m *Memory) of(endpoint string) *memoryQueue {
	q := m.queues[endpoint]
	if q == nil {
		q = &memoryQueue{notices: make(map[Key]*stored), runs: make(map[string]*pendingRun)}
		m.queues[endpoint] = q
	}
	return q
}

func (m *Memory) Add(_ context.Context, endpoint string, entries []Entry, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.of(endpoint)
	for _, e := range entries {
		old := q.notices[e.Key()]
		if old != nil && bytes.Equal(old.Body, e.Body) {
			continue
		}
		if old != nil {
			q.dequeue(old)
		}
		s := &stored{DeadLetter: DeadLetter{Entry: e}, added: now, due: now}
		q.notices[e.Key()] = s
		q.enqueue(s)
	}
	return nil
}

func (m *Memory) Claim(_ context.Context, endpoint string, now, until time.Time, n int) (claimed []Claimed,
	next time.Time, _ error,
) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.of(endpoint)
	var runs []*pendingRun
	for len(runs) < n && len(q.next) > 0 && !q.next[0].notices[0].due.After(now) {
		r := heap.Pop(&q.next).(*pendingRun) //nolint:forcetypeassert // as above
		runs = append(runs, r)
	}
	for _, r := range runs {
		s := r.notices[0]
		s.due = until
		s.Attempts++
		claimed = append(claimed, Claimed{Entry: s.Entry, Attempt: s.Attempts})
		heap.Push(&q.next, r)
	}
	if len(q.next) > 0 {
		next = q.next[0].notices[0].due
	}
	return claimed, next, nil
}

func (m *Memory) Remove(_ context.Context, endpoint string, key Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.of(endpoint)
	if s := q.notices[key]; s != nil {
		q.dequeue(s)
		delete(q.notices, key)
	}
	return nil
}

func (m *Memory) Retry(_ context.Context, endpoint string, c Claimed, at time.Time, reason string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.claimed(endpoint, c); s != nil {
		s.due, s.Reason = at, reason
		q := m.of(endpoint)
		heap.Fix(&q.next, q.runs[s.RunID].place)
	}
	return nil
}

func (m *Memory) Bury(_ context.Context, endpoint string, c Claimed, now time.Time, reason string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.claimed(endpoint, c); s != nil {
		s.Died, s.Reason = now, reason
		m.of(endpoint).dequeue(s)
	}
	return nil
}

func (m *Memory) claimed(endpoint string, c Claimed) *stored {
	s := m.of(endpoint).notices[c.Key()]
	if s == nil || !s.Died.IsZero() || s.Attempts != c.Attempt {
		return nil
	}
	return s
}

func (m *Memory) Dead(_ context.Context, endpoint string, after Key, limit int) (dead []DeadLetter, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, s := range m.of(endpoint).notices {
		if !s.Died.IsZero() && after.less(key) {
			dead = append(dead, s.DeadLetter)
		}
	}
	slices.SortFunc(dead, func(a, b DeadLetter) int {
		return cmp.Or(cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.Seq, b.Seq))
	})
	return dead[:min(len(dead), limit)], nil
}

func (m *Memory) Revive(_ context.Context, endpoint string, key Key, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.of(endpoint)
	s := q.notices[key]
	if s == nil || s.Died.IsZero() {
		return ErrNoDeadLetter
	}
	s.Died, s.due, s.Attempts = time.Time{}, now, 0
	q.enqueue(s)
	return nil
}

func (m *Memory) Count(_ context.Context, endpoint string) (c Count, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	runs := make(map[string]bool)
	for _, s := range m.of(endpoint).notices {
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

func (m *Memory) Clear(_ context.Context, endpoint string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.queues, endpoint)
	return nil
}
