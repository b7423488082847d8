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

func (s *Store) view(r *store.Run) store.Run {
	seen := r.Clone()
	if r.Parked() {
		seen.ShowDeparture(s.departed[r.Owner])
	}
	return seen
}

func (s *Store) Run(ctx context.Context, id string) (store.Run, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, err := s.load(ctx, id)
	if err != nil {
		return store.Run{}, err
	}
	return s.view(&e.run), nil
}

func (s *Store) Spec(ctx context.Context, id string) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, err := s.load(ctx, id)
	if err != nil {
		return nil, err
	}
	return bytes.Clone(e.spec), nil
}

func (s *Store) Runs(ctx context.Context, q store.Query) (store.Page, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkOpen(ctx); err != nil {
		return store.Page{}, err
	}
	q, err := q.Normal()
	if err != nil {
		return store.Page{}, err
	}
	found, err := s.find(q, s.index.listed(q), q.Matches)
	if err != nil {
		return store.Page{}, err
	}
	page, err := s.views(found, q.Limit)
	if err != nil {
		return store.Page{}, err
	}
	return page.NewPage(q)
}

func (s *Store) Waiting(ctx context.Context, q store.WaitingQuery) (store.Page, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkOpen(ctx); err != nil {
		return store.Page{}, err
	}
	q, err := q.Normal()
	if err != nil {
		return store.Page{}, err
	}
	var found []moment
	for _, by := range s.index.ranges(q) {
		some, err := s.find(q.Query, by, q.Matches)
		if err != nil {
			return store.Page{}, err
		}
		found = append(found, some...)
	}
	slices.SortFunc(found, compareMoments)
	found = slices.Compact(found) // a run may ask several principals of one person
	if q.Newest {
		slices.Reverse(found)
	}
	page, err := s.views(found, q.Limit)
	if err != nil {
		return store.Page{}, err
	}
	return q.NewPage(page)
}

// find returns the first runs of a list that match, in the query's order, up to one more than its
// limit. The caller holds the lock.
func (s *Store) find(q store.Query, by *ordered[moment], matches func(*store.Run) bool) (found []moment, _ error) {
	visit := func(m moment) bool {
		if matches(&s.runs[m.id].run) {
			found = append(found, m)
		}
		return len(found) <= q.Limit
	}
	before := start
	if q.After != "" {
		c, err := store.ReadCursor(q.After)
		if err != nil {
			return nil, err
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
	return found, nil
}

func (s *Store) views(found []moment, limit int) (*store.Found, error) {
	page := &store.Found{Limit: limit}
	var encoded []byte
	for _, m := range found {
		r := &s.runs[m.id].run
		var err error
		if encoded, err = store.AppendRun(encoded[:0], r); err != nil {
			return page, err
		}
		if !page.Add(s.view(r), len(encoded)) {
			break
		}
	}
	return page, nil
}

func (s *Store) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, err := s.load(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := store.ValidateLimit(limit); err != nil {
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

func (s *Store) History(ctx context.Context, id string, q store.HistoryQuery) (store.Run, []interaction.Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, err := s.load(ctx, id)
	if err == nil {
		err = q.Validate()
	}
	if err != nil {
		return store.Run{}, nil, err
	}
	settled := slices.All(e.settled)
	if q.Newest {
		settled = slices.Backward(e.settled)
	}
	var page []interaction.Record
	var encoded []byte
	size := 0
	for _, r := range settled {
		if len(page) == q.Limit || size > store.MinPage {
			break
		}
		if !q.Has(r.Question.ID) {
			continue
		}
		if encoded, err = store.AppendRecord(encoded[:0], &r); err != nil {
			return store.Run{}, nil, err
		}
		size += len(encoded)
		page = append(page, store.CloneRecord(r))
	}
	return s.view(&e.run), page, nil
}

func (s *Store) Usage(ctx context.Context, id string) ([]store.TurnUsage, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, err := s.load(ctx, id)
	if err != nil {
		return nil, err
	}
	return slices.Clone(e.usage), nil
}

func (s *Store) Journal(ctx context.Context, id string) ([]interaction.JournalEntry, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, err := s.load(ctx, id)
	if err != nil {
		return nil, err
	}
	return store.CloneJournal(e.journal), nil
}

func (s *Store) Settled(ctx context.Context, id, key string) (interaction.Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, err := s.load(ctx, id)
	if err != nil {
		return interaction.Record{}, err
	}
	i, used := e.byKey(key)
	if !used {
		return interaction.Record{}, refuse.NoReply(id)
	}
	return store.CloneRecord(e.settled[i]), nil
}

func (s *Store) Voted(ctx context.Context, id, key string) (interaction.Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, err := s.load(ctx, id)
	if err != nil {
		return interaction.Record{}, err
	}
	number, voted := e.voted[key]
	if !voted || key == "" {
		return interaction.Record{}, refuse.NoReply(id)
	}
	i, _ := e.find(number)
	return store.CloneRecord(e.settled[i]), nil
}

func (s *Store) Due(ctx context.Context, now time.Time, limit int) (due []store.Run, next time.Time, _ error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkOpen(ctx); err != nil {
		return nil, time.Time{}, err
	}
	if err := store.ValidateLimit(limit); err != nil {
		return nil, time.Time{}, err
	}
	var found []moment
	for _, by := range []*ordered[moment]{s.index.deadlines, s.index.heldUntil} {
		by.from(start, func(m moment) bool {
			if m.at > now.UnixMicro() || len(found) == limit {
				return false
			}
			found = append(found, m)
			return true
		})
	}
	page, err := s.views(found, limit)
	if err != nil {
		return nil, time.Time{}, err
	}
	due = page.Runs()
	later := func(m moment) bool { return m.at <= now.UnixMicro() }
	for _, by := range []*ordered[moment]{s.index.deadlines, s.index.delayed} {
		if m, ok := by.first(later); ok && (next.IsZero() || m.at < next.UnixMicro()) {
			next = time.UnixMicro(m.at).UTC()
		}
	}
	return due, next, nil
}

func (s *Store) Orphans(ctx context.Context, skip, limit int) (orphans []store.Run, _ error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	if err := store.ValidateSkip(skip, limit); err != nil {
		return nil, err
	}
	var found []moment
	for owner := ""; len(found) < limit; {
		b, ok := s.index.owned.first(func(b ownedRun) bool { return b.owner <= owner })
		if !ok {
			break
		}
		owner = b.owner
		if s.nodes[owner] != nil {
			continue
		}
		s.index.owned.from(func(b ownedRun) bool { return b.owner < owner }, func(b ownedRun) bool {
			if b.owner != owner || b.parked || len(found) == limit {
				return false
			}
			if skip--; skip < 0 {
				found = append(found, moment{id: b.id})
			}
			return true
		})
	}
	page, err := s.views(found, limit)
	return page.Runs(), err
}

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
