package crash

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/interlude-go/interlude/store"
)

// Store is the store of a host. It finds the points, and makes the fault happen the first time that
// the host reaches the fault's point.
type Store struct {
	store.Store

	// Mute withholds the store's hints from the host.
	Mute bool
	// Slower is how much slower the store's own clock goes than the host's; 0 for a store that has
	// none.
	Slower time.Duration

	fault Fault
	end   func()

	mu      sync.Mutex
	gone    bool                         // guarded by mu
	hit     bool                         // guarded by mu; the fault has happened
	found   []Point                      // guarded by mu; in the order of the calls
	seen    map[string]bool              // guarded by mu; the names of found
	stored  map[Record]bool              // guarded by mu; the records that this host wrote or may have written
	node    string                       // guarded by mu; the node as which the host last joined
	places  map[store.FeedPosition]Place // guarded by mu; the events of a feed's positions
	acked   uint64                       // guarded by mu; see ackedTo
	renewed chan struct{}                // closed when a renewal has named a run
}

// Record identifies a version of a run, by the run's name in the scenario.
type Record struct {
	Run     string
	Version uint64
}

// NewStore returns a Store that finds the points of the calls to s. It calls end when the fault
// ends the host; every later call of the host is refused with ErrGone.
func NewStore(s store.Store, fault Fault, end func()) *Store {
	return &Store{Store: s, fault: fault, end: end, seen: make(map[string]bool), stored: make(map[Record]bool),
		places:  make(map[store.FeedPosition]Place),
		renewed: make(chan struct{})}
}

// timed is a Store for a store.Timekeeper.
type timed struct {
	*Store
	store.Timekeeper
}

// View returns the store with the optional abilities that a lifecycle uses.
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

// Found returns the points in the order in which the host reached them.
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

// idled reports whether the host has made all calls that an idle host makes.
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

// alone reports whether the host is the only registered one, so that it has taken over from all
// earlier ones.
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

// arrive records the point and returns the outcome that the fault has there; mostly it has none.
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

// wrote records that this host has written the record, or may have written it.
func (s *Store) wrote(r *store.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored[Record{nameOf(r.ID), r.Version}] = true
}

// write makes a writing call. Its error is only the fault's; do keeps the store's answer.
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

// leave turns an outcome after the call into the host's end or the caller's error.
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

// read makes a reading call. The point's name depends on the result.
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
