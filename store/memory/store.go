package memory

import (
	"bytes"
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/claim"
	"github.com/interlude-go/interlude/store/internal/refuse"
)

// Store keeps runs in memory. Use New. Package store describes the methods of its interfaces: Store,
// Watcher, Meter and Local.
type Store struct {
	watchers store.Watchers

	mu       sync.RWMutex // guards everything below
	closed   bool
	runs     map[string]*entry
	index    index
	nodes    map[string]*store.Node
	departed map[string]time.Time // departure times of nodes that parked runs may name
	usage    store.Usage          // of the runs that have not ended
	pools    map[string]slots.Pool
	counters store.Counters
	feeds    feeds

	rotation claim.Rotation
	identity string // never changes
}

type entry struct {
	run     store.Run
	spec    []byte
	events  []store.Event        // events[i].Seq is i+1
	settled []interaction.Record // by their numbers
	keys    map[string]int       // idempotency key → number of the interaction; nil for a few: see byKey
	voted   map[string]int       // key of a vote → number of the settled interaction; see Voted
	usage   []store.TurnUsage
	journal []interaction.JournalEntry
}

var (
	_ store.Store   = (*Store)(nil)
	_ store.Watcher = (*Store)(nil)
	_ store.Meter   = (*Store)(nil)
	_ store.Local   = (*Store)(nil)
)

// New returns an empty store.
func New() *Store {
	return &Store{
		runs: make(map[string]*entry), index: newIndex(), nodes: make(map[string]*store.Node),
		departed: make(map[string]time.Time), pools: make(map[string]slots.Pool), identity: rand.Text(),
		feeds: feeds{byName: make(map[string]*feed), first: 1},
	}
}

func (s *Store) Identity(ctx context.Context) (string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.identity, s.checkOpen(ctx)
}

// Close closes the store; later calls return store.ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func (s *Store) checkOpen(ctx context.Context) error {
	if s.closed {
		return store.ErrClosed
	}
	return ctx.Err()
}

// Commit implements store.Writer. It checks and copies the commits before it locks the store, as
// far as possible without the stored records. A batch becomes visible as a whole.
func (s *Store) Commit(ctx context.Context, batch []store.Commit) []error {
	errs := make([]error, len(batch))
	var one [1]commitCopy // most batches have one commit
	copies := one[:0]
	for i := range batch {
		if errs[i] = batch[i].Validate(); errs[i] == nil {
			copies = append(copies, copyOf(&batch[i]))
		} else {
			copies = append(copies, commitCopy{})
		}
	}
	var oneHint [1]store.Hint
	s.watchers.Notify(s.commitAll(ctx, batch, copies, errs, oneHint[:0]))
	return errs
}

func (s *Store) commitAll(ctx context.Context, batch []store.Commit, copies []commitCopy, errs []error,
	hints []store.Hint) []store.Hint {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range batch {
		if err := s.checkOpen(ctx); err != nil {
			errs[i] = err
		} else if errs[i] == nil {
			errs[i] = s.commit(&batch[i], &copies[i])
		}
		if errs[i] == nil {
			hints = append(hints, s.hintOf(&batch[i]))
		}
	}
	return hints
}

type commitCopy struct {
	run     store.Run // without its session, which write adds
	spec    []byte
	bodies  []byte               // of all events together
	settled interaction.Record   // the first one, also without its session
	more    []interaction.Record // the others
	journal []interaction.JournalEntry
}

func copyOf(c *store.Commit) commitCopy {
	own := commitCopy{run: c.Run, spec: bytes.Clone(c.Spec), journal: store.CloneJournal(c.Journal)}
	own.run.Session = nil // see write
	own.run = own.run.Clone()
	size := 0
	for i := range c.Events {
		size += len(c.Events[i].Body)
	}
	own.bodies = make([]byte, 0, size)
	for i := range c.Events {
		own.bodies = append(own.bodies, c.Events[i].Body...)
	}
	for i, r := range c.Settled {
		r.Session = nil // see write
		if r = store.CloneRecord(r); i == 0 {
			own.settled = r
		} else {
			own.more = append(own.more, r)
		}
	}
	return own
}

// find returns the index of the interaction in settled, or its insertion point.
func (e *entry) find(number int) (i int, settled bool) {
	return slices.BinarySearchFunc(e.settled, number, func(r interaction.Record, number int) int {
		return r.Question.ID - number
	})
}

// settle inserts a settled interaction in order: the questions of one turn are settled in any
// order.
func (e *entry) settle(r *interaction.Record) {
	i, _ := e.find(r.Question.ID)
	e.settled = slices.Insert(e.settled, i, *r)
	for j := range r.Question.Votes {
		if e.voted == nil {
			e.voted = make(map[string]int)
		}
		e.voted[r.Question.Votes[j].Key] = r.Question.ID
	}
	if e.keys != nil && r.Key != "" {
		e.keys[r.Key] = r.Question.ID
	}
	if e.keys == nil && len(e.settled) > fewSettled {
		e.keys = make(map[string]int)
		for i := range e.settled {
			if key := e.settled[i].Key; key != "" {
				e.keys[key] = e.settled[i].Question.ID
			}
		}
	}
}

// fewSettled is the number of settled interactions up to which a linear search finds a key. Most
// runs have so few that a map would be larger.
const fewSettled = 8

func (e *entry) byKey(key string) (i int, used bool) {
	if key == "" {
		return 0, false
	}
	if e.keys != nil {
		number, used := e.keys[key]
		if !used {
			return 0, false
		}
		return e.find(number)
	}
	for i := range e.settled {
		if e.settled[i].Key == key {
			return i, true
		}
	}
	return 0, false
}

// session returns the store's copy of a session: the run's current one if equal, as nearly always.
func (e *entry) session(h *interaction.SessionHandle) *interaction.SessionHandle {
	if h.Equal(e.run.Session) {
		return e.run.Session
	}
	return h.Clone()
}

func (s *Store) hintOf(c *store.Commit) store.Hint {
	e := s.runs[c.Run.ID]
	events := e.events
	var last *store.Run
	switch {
	case !c.Run.State.Terminal():
	case e.run.Family == nil: // an ended run does not change, so its record can be shared
		last = &e.run
	default: // its relatives may still be due, which changes the record
		final := e.run
		last = &final
	}
	return store.Hint{Run: last, RunID: c.Run.ID, State: c.Run.State, Seq: c.Run.Seq,
		Events: slices.Clip(events[len(events)-len(c.Events):])}
}

// usualEvents is room for the events of a run that asks one question.
const usualEvents = 10

// commit stores a commit, or returns why it is refused.
func (s *Store) commit(c *store.Commit, own *commitCopy) error {
	e := s.runs[c.Run.ID]
	if c.Expect == 0 {
		if e != nil {
			return refuse.Exists(c.Run.ID)
		}
		if _, ok := s.pools[c.Run.Pool]; !ok {
			return refuse.UnknownPool(c.Run.Pool)
		}
		e = &entry{spec: own.spec, events: make([]store.Event, 0, usualEvents)}
		s.runs[c.Run.ID] = e
		s.write(e, nil, c, own)
		return nil
	}
	if e == nil {
		return refuse.NotFound(c.Run.ID)
	}
	known := refuse.Facts{
		Registered: func(node string) (bool, error) { return s.nodes[node] != nil, nil },
		KeyUsed: func(key string) (bool, error) {
			_, used := e.byKey(key)
			return used, nil
		},
		Departed: func(node string) (time.Time, error) { return s.departed[node], nil },
	}
	if refused, _ := refuse.Change(c, &e.run, known); refused != nil {
		return refused
	}
	s.write(e, &e.run, c, own)
	return nil
}

func (s *Store) write(e *entry, prev *store.Run, c *store.Commit, own *commitCopy) {
	hadEnded := prev != nil && prev.State.Terminal() // before e.run, which prev points to, changes
	if prev == nil {
		s.index.addNew(&own.run)
	} else {
		s.index.remove(prev)
	}
	own.run.Session = e.session(c.Run.Session)
	e.run = own.run
	s.index.add(&e.run)
	for i := range c.Events {
		n := len(c.Events[i].Body)
		e.events = append(e.events, store.Event{Seq: c.Events[i].Seq, Body: own.bodies[:n:n]})
		own.bodies = own.bodies[n:]
	}
	s.feeds.note(e, len(c.Events))
	s.count(c)
	if c.Usage != nil {
		e.usage = append(e.usage, store.TurnUsage{Attempt: e.run.Attempt, Usage: *c.Usage})
		s.usage.Add(*c.Usage)
	}
	e.journal = append(e.journal, own.journal...)
	if e.run.State.Terminal() && !hadEnded {
		for _, u := range e.usage {
			s.usage.Subtract(u.Usage)
		}
	}
	for i := range c.Settled {
		r := &own.settled
		if i > 0 {
			r = &own.more[i-1]
		}
		r.Session = e.session(c.Settled[i].Session)
		e.settle(r)
	}
}

func (s *Store) count(c *store.Commit) {
	s.counters.Commits++
	s.counters.Rows++
	s.counters.Bytes += uint64(len(c.Spec))
	if len(c.Events) > 0 {
		s.counters.Rows++
	}
	for _, event := range c.Events {
		s.counters.Bytes += uint64(len(event.Body))
	}
	for i := range c.Journal {
		s.counters.Bytes += uint64(c.Journal[i].Size())
	}
	s.counters.Rows += uint64(len(c.Settled) + len(c.Journal))
	if c.Usage != nil {
		s.counters.Rows++
	}
}

// Counters implements store.Meter. Rows are records, events, settled interactions and journal
// entries; bytes count events, specs and journal entries, the only data kept as bytes. There are no
// flushes.
func (s *Store) Counters() store.Counters {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.counters
}

func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkOpen(ctx); err != nil {
		return 0, err
	}
	if err := store.ValidateLimit(limit); err != nil {
		return 0, err
	}
	var old []string
	noted := s.feeds.lastNoted()
	s.index.finished.from(start, func(m moment) bool {
		if m.at >= before.UnixMicro() || len(old) == limit {
			return false
		}
		if e := s.runs[m.id]; e.run.Prunable() && !s.feeds.needs(&e.run, noted[e], before) {
			old = append(old, m.id)
		}
		return true
	})
	for _, id := range old {
		e := s.runs[id]
		s.feeds.markLost(noted[e])
		s.index.removePruned(&e.run)
		delete(s.runs, id)
	}
	s.feeds.dropAcknowledged()
	return len(old), nil
}
