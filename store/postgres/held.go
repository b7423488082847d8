package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// held are the entries of runs that a transaction of somebody's own holds. They wait here by run,
// in the order in which they came, and try with permits, so that they take a few connections only,
// however many they are.
type held struct {
	permits chan struct{} // taken by those who try

	mu      sync.Mutex
	waiting map[string][]waiter // guarded by mu; by run, the first is the one that tries
}

// waiter is an entry that waits.
type waiter struct {
	*entry

	until time.Time
}

// heldWait is how long one who tries waits at the row. It is also how much later than it could an
// entry is stored, for each that waits for a permit before it.
const heldWait = 200 * time.Millisecond

// newHeld leaves most of so many connections to others.
func newHeld(connections int32) held {
	return held{permits: make(chan struct{}, max(1, connections/4)), waiting: make(map[string][]waiter)}
}

// behind has an entry wait behind those of its run that wait already, if there are any.
func (s *Store) behind(e *entry) bool {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	waits := len(s.held.waiting[e.Run.ID]) > 0
	if waits {
		s.held.add(e, s.o.Timeout)
	}
	return waits
}

// apart has an entry wait by itself, so that it holds up no entry of another run. Only a flush may
// call it.
func (s *Store) apart(e *entry) {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	s.held.add(e, s.o.Timeout)
	if len(s.held.waiting[e.Run.ID]) == 1 {
		s.flushes.Go(func() { s.insist(e.Run.ID) })
	}
}

// add needs mu.
func (h *held) add(e *entry, timeout time.Duration) {
	h.waiting[e.Run.ID] = append(h.waiting[e.Run.ID], waiter{e, time.Now().Add(timeout)})
}

// insist stores the entries of a run, one after the other, until none waits.
func (s *Store) insist(run string) {
	for {
		s.held.mu.Lock()
		first := s.held.waiting[run][0]
		s.held.mu.Unlock()
		if !s.insistOn(first) {
			continue
		}
		s.held.mu.Lock()
		rest := s.held.waiting[run][1:]
		if s.held.waiting[run] = rest; len(rest) == 0 {
			delete(s.held.waiting, run)
		}
		s.held.mu.Unlock()
		if len(rest) == 0 {
			return
		}
	}
}

// insistOn takes a permit, and reports whether the entry is finished.
func (s *Store) insistOn(w waiter) bool {
	late := time.NewTimer(time.Until(w.until))
	defer late.Stop()
	select {
	case s.held.permits <- struct{}{}:
		defer func() { <-s.held.permits }()
	case <-late.C:
	}
	wait := min(heldWait, time.Until(w.until)).Milliseconds()
	if wait < 1 {
		w.finish(fmt.Errorf("postgres: write: %w: run %.128s is held by another transaction", ErrTimeout, w.Run.ID))
		return true
	}
	// The server gives up long before this exchange would end, so that it is known that nothing was
	// written.
	ctx, cancel := context.WithTimeout(s.live, s.o.Timeout)
	defer cancel()
	return s.alone(ctx, w.entry, strconv.FormatInt(wait, 10)+"ms")
}

// alone writes one entry, and reports whether that finished it: otherwise its row is held still.
func (s *Store) alone(ctx context.Context, e *entry, wait string) bool {
	entries := []*entry{e}
	for try := 0; ; try++ {
		if entries = s.known(ctx, entries); len(entries) == 0 {
			return true
		}
		err := s.write(ctx, wait, entries)
		var refused *pgconn.PgError
		switch {
		case err == nil:
			if entries = s.judged(ctx, s.stored(entries), try); len(entries) == 0 {
				return true
			}
		case errors.As(err, &refused) && refused.Code == "55P03":
			return false
		case !again(err) || try == maxTries:
			e.finish(unstored(err))
			return true
		}
	}
}
