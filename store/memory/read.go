package memory

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/refuse"
)

// load returns the entry of a run. The caller holds the lock.
func (s *Store) load(ctx context.Context, id string) (*entry, error) {
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	e := s.runs[id]
	if e == nil {
		return nil, refuse.NotFound(id)
	}
	return e, nil
}

// view is a copy of a run for a reader. The caller holds the lock.
func (s *Store) view(r *store.Run) store.Run {
	seen := r.Clone()
	if r.Parked() {
		seen.ShowDeparture(s.departed[r.Owner])
	}
	return seen
}

// Run implements store.Reader.
func (s *Store) Run(ctx context.Context, id string) (store.Run, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, err := s.load(ctx, id)
	if err != nil {
		return store.Run{}, err
	}
	return s.view(&e.run), nil
}

// Spec implements store.Reader.
func (s *Store) Spec(ctx context.Context, id string) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, err := s.load(ctx, id)
	if err != nil {
		return nil, err
	}
	return bytes.Clone(e.spec), nil
}

// Runs implements store.Reader.
func (s *Store) Runs(ctx context.Context, q store.Query) (store.Page, error) {
	return s.list(ctx, q, s.index.listed, func(r *store.Run) time.Time { return r.CreatedAt })
}

// Inbox implements store.Reader.
func (s *Store) Inbox(ctx context.Context, q store.Query) (store.Page, error) {
	waiting := func(store.Query) *ordered[moment] { return s.index.waiting }
	return s.list(ctx, q, waiting, func(r *store.Run) time.Time { return r.Pending.AskedAt })
}

// list pages through the index that choose returns.
func (s *Store) list(ctx context.Context, q store.Query, choose func(store.Query) *ordered[moment],
	key func(*store.Run) time.Time) (store.Page, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkOpen(ctx); err != nil {
		return store.Page{}, err
	}
	q, err := q.Normal()
	if err != nil {
		return store.Page{}, err
	}
	by := choose(q)
	var page store.Page
	visit := func(m moment) bool {
		r := &s.runs[m.id].run
		if !q.Matches(r) {
			return true
		}
		if len(page.Runs) == q.Limit {
			last := &page.Runs[q.Limit-1]
			page.Next = store.Cursor{At: key(last), ID: last.ID}.String()
			return false
		}
		page.Runs = append(page.Runs, s.view(r))
		return true
	}
	before := start
	if q.After != "" {
		c, err := store.ReadCursor(q.After)
		if err != nil {
			return store.Page{}, err
		}
		before = beforeMoment(at(c.At, c.ID), !q.Newest)
	} else if q.Newest {
		before = func(moment) bool { return true }
	}
	if q.Newest {
		by.back(before, visit)
	} else {
		by.from(before, visit)
	}
	return page, nil
}

// Events implements store.Reader.
func (s *Store) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, err := s.load(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	if after >= uint64(len(e.events)) {
		return nil, nil
	}
	part := e.events[after:]
	events := make([]store.Event, 0, min(limit, len(part)))
	size := 0
	for _, event := range part {
		if len(events) == limit || size > store.MinPage {
			break
		}
		size += len(event.Body)
		events = append(events, store.Event{Seq: event.Seq, Body: bytes.Clone(event.Body)})
	}
	return events, nil
}

// History implements store.Reader.
func (s *Store) History(ctx context.Context, id string) (store.Run, []interaction.Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, err := s.load(ctx, id)
	if err != nil {
		return store.Run{}, nil, err
	}
	records := make([]interaction.Record, len(e.settled))
	for i, r := range e.settled {
		records[i] = store.CloneRecord(r)
	}
	return s.view(&e.run), records, nil
}

// Usage implements store.UsageReader.
func (s *Store) Usage(ctx context.Context, id string) ([]store.TurnUsage, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, err := s.load(ctx, id)
	if err != nil {
		return nil, err
	}
	return slices.Clone(e.usage), nil
}

// Settled implements store.Reader.
func (s *Store) Settled(ctx context.Context, id, key string) (interaction.Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, err := s.load(ctx, id)
	if err != nil {
		return interaction.Record{}, err
	}
	number, ok := e.keys[key]
	if !ok || key == "" {
		return interaction.Record{}, refuse.NoReply(id)
	}
	i, _ := e.find(number)
	return store.CloneRecord(e.settled[i]), nil
}

// Due implements store.Reader.
func (s *Store) Due(ctx context.Context, now time.Time, limit int) (due []store.Run, next time.Time, _ error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkOpen(ctx); err != nil {
		return nil, time.Time{}, err
	}
	if err := store.CheckLimit(limit); err != nil {
		return nil, time.Time{}, err
	}
	for _, by := range []*ordered[moment]{s.index.deadlines, s.index.heldUntil} {
		by.from(start, func(m moment) bool {
			if m.at > now.UnixMicro() || len(due) == limit {
				return false
			}
			due = append(due, s.view(&s.runs[m.id].run))
			return true
		})
	}
	later := func(m moment) bool { return m.at <= now.UnixMicro() }
	for _, by := range []*ordered[moment]{s.index.deadlines, s.index.delayed} {
		if m, ok := by.first(later); ok && (next.IsZero() || m.at < next.UnixMicro()) {
			next = time.UnixMicro(m.at).UTC()
		}
	}
	return due, next, nil
}

// Orphans implements store.Reader.
func (s *Store) Orphans(ctx context.Context, skip, limit int) (orphans []store.Run, _ error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	if err := store.CheckSkip(skip, limit); err != nil {
		return nil, err
	}
	for owner := ""; len(orphans) < limit; {
		b, ok := s.index.owned.first(func(b belonging) bool { return b.owner <= owner })
		if !ok {
			break
		}
		owner = b.owner
		if s.nodes[owner] != nil {
			continue
		}
		s.index.owned.from(func(b belonging) bool { return b.owner < owner }, func(b belonging) bool {
			if b.owner != owner || b.parked || len(orphans) == limit {
				return false
			}
			if skip--; skip < 0 {
				orphans = append(orphans, s.runs[b.id].run.Clone())
			}
			return true
		})
	}
	return orphans, nil
}

// Interaction implements store.InteractionReader.
func (s *Store) Interaction(ctx context.Context, id string, number int) (interaction.Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, err := s.load(ctx, id)
	if err != nil {
		return interaction.Record{}, err
	}
	i, settled := e.find(number)
	if !settled {
		return interaction.Record{}, refuse.NoInteraction(id, number)
	}
	return store.CloneRecord(e.settled[i]), nil
}

// Confirm implements store.Confirmer. Nothing here outlives the process, so nothing can be undone.
func (s *Store) Confirm(ctx context.Context, read func(store.Reader) error) error {
	s.mu.RLock()
	err := s.checkOpen(ctx)
	s.mu.RUnlock()
	if err != nil {
		return err
	}
	return read(s)
}
