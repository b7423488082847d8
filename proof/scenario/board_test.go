package scenario_test

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// long is the lease that stores are told: none runs out by a store's own clock, which goes its own
// way.
const long = 24 * time.Hour

// lease is a node's, by the story's time.
type lease struct {
	name  string // the node's, in the story
	until time.Time
	d     time.Duration
}

// note is what the story tells beside events: who executes what. It stands after the event that was
// the run's last one then.
type note struct {
	after uint64
	text  string
}

// board is what all processes of a story have in common beside their store: hints, leases, and what
// is told.
type board struct {
	mu     sync.Mutex
	views  []*view           // guarded by mu
	leases map[string]lease  // guarded by mu; by node id
	names  map[string]string // guarded by mu; of nodes, by id, for ever
	seqs   map[string]uint64 // guarded by mu; last events, by run
	notes  map[string][]note // guarded by mu; not told yet, by run
	said   []string          // guarded by mu; not told yet, of no run
}

func newBoard() *board {
	return &board{leases: make(map[string]lease), names: make(map[string]string), seqs: make(map[string]uint64),
		notes: make(map[string][]note)}
}

// say tells something of no run.
func (b *board) say(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, text)
}

// note tells something of a run.
func (b *board) note(runID, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes[runID] = append(b.notes[runID], note{b.seqs[runID], text})
}

// take returns what was noted of a run since it was last asked.
func (b *board) take(runID string) []note {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.notes[runID]
	delete(b.notes, runID)
	return all
}

// heard returns what was said since it was last asked.
func (b *board) heard() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.said
	b.said = nil
	return lines(all...)
}

func lines(all ...string) string {
	if len(all) == 0 {
		return ""
	}
	return strings.Join(all, "\n") + "\n"
}

// stored hints at a commit, to all who can hear it.
func (b *board) stored(r *store.Run) {
	b.mu.Lock()
	b.seqs[r.ID] = r.Seq
	views := slices.Clone(b.views)
	b.mu.Unlock()
	for _, v := range views {
		v.hint(store.Hint{RunID: r.ID, State: r.State, Seq: r.Seq})
	}
}

// Watch implements store.Watcher.
func (v *view) Watch(fn func(store.Hint)) (stop func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.next++
	id := v.next
	v.watches[id] = fn
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.watches, id)
	}
}

// hint is lost where the process cannot hear it.
func (v *view) hint(h store.Hint) {
	v.mu.Lock()
	var fns []func(store.Hint)
	if !v.gone && !v.cut && v.awake == nil {
		for _, fn := range v.watches {
			fns = append(fns, fn)
		}
	}
	v.mu.Unlock()
	for _, fn := range fns {
		fn(h)
	}
}

// hintAnything wakes whoever waits for something to do.
func (v *view) hintAnything() { v.hint(store.Hint{State: fsm.StateQueued}) }

func (b *board) join(name string, n store.Node, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leases[n.ID] = lease{name, now.Add(n.Lease), n.Lease}
	b.names[n.ID] = name
}

func (b *board) renew(id string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.leases[id]
	l.until = now.Add(l.d)
	b.leases[id] = l
}

// silent are the nodes whose lease ended before now.
func (b *board) silent(now time.Time) (ids []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, l := range b.leases {
		if l.until.Before(now) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (b *board) expired(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.leases, id)
}

// leased are the nodes with their leases by the story's time.
func (b *board) leased(nodes []store.Node) []store.Node {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range nodes {
		l := b.leases[nodes[i].ID]
		nodes[i].Lease, nodes[i].Until = l.d, l.until
	}
	return nodes
}

// nodeName is a node as the story calls it.
func (b *board) nodeName(id string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.names[id]
}
