package crash

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// Store is a host's store. It finds points, and has the fault happen at its point, the first time that the host comes there.
type Store struct {
	store.Store

	fault Fault
	end   func()

	mu      sync.Mutex
	gone    bool             // guarded by mu
	hit     bool             // guarded by mu; the fault has happened
	found   []Point          // guarded by mu; in order
	seen    map[string]bool  // guarded by mu; names of found
	stored  map[version]bool // guarded by mu; what was written
	renewed chan struct{}    // guarded by mu; closed at each renewal that names a run
}

// version is a record of a run, by the run's name.
type recorded struct {
	run     string
	version uint64
}

// timed is a Store on one that keeps the time.
type timed struct {
	*Store
	store.Timekeeper
}

// NewStore numbers what is asked of s. End is called where the fault ends the host; when it returns, everything else
// that the host asks is refused with ErrGone.
func NewStore(s store.Store, fault Fault, end func()) *Store {
	return &Store{Store: s, fault: fault, end: end, seen: make(map[string]bool), stored: make(map[version]bool), renewed: make(chan struct{})}
}
