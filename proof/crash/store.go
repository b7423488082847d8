package crash

import (
	"context"
	"slices"
	"sync"

	"github.com/interlude-go/interlude/store"
)

// Store is what a host has for a store. It finds points, and has the fault happen the first time
// that the host comes to its point.
type Store struct {
	store.Store

	// Mute keeps the store's hints from the host.
	Mute bool

	fault Fault
	end   func()

	mu      sync.Mutex
	gone    bool            // guarded by mu
	hit     bool            // guarded by mu; the fault has happened
	found   []Point         // guarded by mu; in order
	seen    map[string]bool // guarded by mu; the names of found
	stored  map[Record]bool // guarded by mu; what was written
	node    string          // guarded by mu; that the host joined as, last
	renewed chan struct{}   // closed when a renewal has named a run
}

// Record is a run, by its name in the scenario, as it stood at a version.
type Record struct {
	Run     string
	Version uint64
}

// NewStore finds the points of what is asked of s. End is called where the fault ends the host;
// everything that the host asks afterwards is refused with ErrGone.
func NewStore(s store.Store, fault Fault, end func()) *Store {
	return &Store{Store: s, fault: fault, end: end, seen: make(map[string]bool), stored: make(map[Record]bool),
		renewed: make(chan struct{})}
}

// timed is a Store on one that keeps the time.
type timed struct {
	*Store
	store.Timekeeper
}

// View is the store with the abilities that a lifecycle asks for.
func (s *Store) View() store.Store {
	if k, ok := s.Store.(store.Timekeeper); ok {
		return timed{s, k}
	}
	return s
}

// Watch passes on the hints of the store below.
func (s *Store) Watch(fn func(store.Hint)) (stop func()) {
	if w, ok := s.Store.(store.Watcher); ok && !s.Mute {
		return w.Watch(fn)
	}
	return func() {}
}

// Found returns the points in the order in which the host came to them.
func (s *Store) Found() []Point {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.found)
}

// Hit reports whether the fault has happened.
func (s *Store) Hit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hit
}

// Gone reports whether the host has ended.
func (s *Store) Gone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// Stored reports whether this host wrote the record.
func (s *Store) Stored(r Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored[r]
}

// idled reports whether the host has done all that hosts do when there is nothing to do.
func (s *Store) idled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen["claim: nothing"] && s.seen["due: nothing"] && s.seen["orphans: nothing"] && s.seen["renew: nothing"]
}

// is reports whether the host has joined as the node.
func (s *Store) is(node string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return node == s.node
}

// alone reports whether the host is the only one that is registered: it has taken over from all
// before it.
func (s *Store) alone(ctx context.Context) bool {
	nodes, err := s.Store.Nodes(ctx)
	return err == nil && len(nodes) == 1 && s.is(nodes[0].ID)
}

// Renewed is closed once the host has renewed its lease while it held a run.
func (s *Store) Renewed() <-chan struct{} { return s.renewed }

// Stop ends the host between two operations.
func (s *Store) Stop() {
	s.mu.Lock()
	s.gone = true
	s.mu.Unlock()
	s.end()
}

// arrive says what is to happen at the point: nothing, most of the time.
func (s *Store) arrive(p Point) Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[p.Name] {
		return ""
	}
	s.seen[p.Name] = true
	s.found = append(s.found, p)
	if p.Name != s.fault.Point {
		return ""
	}
	s.hit = true
	return s.fault.Outcome
}

// wrote remembers a record that is stored.
func (s *Store) wrote(r *store.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored[Record{nameOf(r.ID), r.Version}] = true
}

// write has the store do something at the point. Its error is the fault's: what the store answers
// is the caller's to keep.
func (s *Store) write(p Point, do func()) error {
	if s.Gone() {
		return ErrGone
	}
	outcome := s.arrive(p)
	if outcome == Before {
		s.Stop()
		return ErrGone
	}
	do()
	return s.leave(outcome)
}

// leave is what becomes of an answer.
func (s *Store) leave(outcome Outcome) error {
	switch outcome {
	case After:
		s.Stop()
		return ErrGone
	case Lost:
		return ErrLost
	}
	return nil
}

// read has the store look. What it finds names the point.
func read[T any](s *Store, do func() (T, error), name func(T) Point) (T, error) {
	var none T
	if s.Gone() {
		return none, ErrGone
	}
	found, err := do()
	if err != nil {
		return found, err
	}
	if fault := s.leave(s.arrive(name(found))); fault != nil {
		return none, fault
	}
	return found, nil
}
