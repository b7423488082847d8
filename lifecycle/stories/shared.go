package stories

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/interlude-go/interlude/store"
)

// storeLease is the lease that stores are given. The story judges leases by its own time, so none
// may expire by a store's clock.
const storeLease = 24 * time.Hour

type lease struct {
	until time.Time
	d     time.Duration
}

// note describes something about a run that is not an event, such as the execution of a turn. It is
// reported after the run's last event at the time.
type note struct {
	after uint64
	text  string
}

// shared is what a story's processes share besides their store: hints, leases, and pending reports.
type shared struct {
	mu          sync.Mutex
	connections []*connection        // guarded by mu
	leases      map[string]lease     // guarded by mu; by node id
	names       map[string]string    // guarded by mu; of all nodes that there were, by id
	seqs        map[string]uint64    // guarded by mu; the last event of each run
	notes       map[string][]note    // guarded by mu; not reported yet, by run
	messages    []string             // guarded by mu; not reported yet, about no run
	feeds       map[string]time.Time // guarded by mu; when the lease of each feed's reader ends
}

func newShared() *shared {
	return &shared{leases: make(map[string]lease), names: make(map[string]string), seqs: make(map[string]uint64),
		notes: make(map[string][]note), feeds: make(map[string]time.Time)}
}

func (s *shared) addMessage(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = append(s.messages, text)
}

func (s *shared) addNote(runID, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes[runID] = append(s.notes[runID], note{s.seqs[runID], text})
}

func (s *shared) drainNotes(runID string) []note {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.notes[runID]
	delete(s.notes, runID)
	return all
}

func (s *shared) drainMessages() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text strings.Builder
	for _, m := range s.messages {
		text.WriteString(m + "\n")
	}
	s.messages = nil
	return text.String()
}

func (s *shared) committed(r *store.Run) {
	s.mu.Lock()
	s.seqs[r.ID] = r.Seq
	connections := slices.Clone(s.connections)
	s.mu.Unlock()
	for _, c := range connections {
		c.hint(store.Hint{RunID: r.ID, State: r.State, Seq: r.Seq})
	}
}

func (s *shared) joined(name string, n store.Node, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leases[n.ID] = lease{now.Add(n.Lease), n.Lease}
	s.names[n.ID] = name
}

func (s *shared) renewed(id string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases[id]
	l.until = now.Add(l.d)
	s.leases[id] = l
}

func (s *shared) overdue(now time.Time) (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, l := range s.leases {
		if l.until.Before(now) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (s *shared) expired(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.leases, id)
}

func (s *shared) withLeases(nodes []store.Node) []store.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range nodes {
		l := s.leases[nodes[i].ID]
		nodes[i].Lease, nodes[i].Until = l.d, l.until
	}
	return nodes
}

func (s *shared) nodeName(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names[id]
}
