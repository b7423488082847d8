package crash

import (
	"context"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// Run implements store.Reader.
func (s *Store) Run(ctx context.Context, id string) (store.Run, error) {
	return read(s, func() (store.Run, error) {
		return s.Store.Run(ctx, id)
	}, func(r store.Run) Point { return about("run", false, []store.Run{r}) })
}

// Spec implements store.Reader.
func (s *Store) Spec(ctx context.Context, id string) ([]byte, error) {
	return read(s, func() ([]byte, error) {
		return s.Store.Spec(ctx, id)
	}, func([]byte) Point { return named("spec", false, []string{nameOf(id)}) })
}

// Runs implements store.Reader.
func (s *Store) Runs(ctx context.Context, q store.Query) (store.Page, error) {
	return read(s, func() (store.Page, error) {
		return s.Store.Runs(ctx, q)
	}, func(store.Page) Point { return Point{Name: "runs"} })
}

// Waiting implements store.Reader.
func (s *Store) Waiting(ctx context.Context, q store.WaitingQuery) (store.Page, error) {
	return read(s, func() (store.Page, error) {
		return s.Store.Waiting(ctx, q)
	}, func(store.Page) Point { return Point{Name: "waiting"} })
}

// Events implements store.Reader.
func (s *Store) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	return read(s, func() ([]store.Event, error) {
		return s.Store.Events(ctx, id, after, limit)
	}, func(found []store.Event) Point {
		return Point{Name: fmt.Sprintf("events: %s after %d, %d", nameOf(id), after, len(found))}
	})
}

// History implements store.Reader.
func (s *Store) History(ctx context.Context, id string, q store.HistoryQuery) (store.Run, []interaction.Record,
	error) {
	type answer struct {
		run     store.Run
		records []interaction.Record
	}
	a, err := read(s, func() (a answer, err error) {
		a.run, a.records, err = s.Store.History(ctx, id, q)
		return a, err
	}, func(a answer) Point { return about("history", false, []store.Run{a.run}) })
	return a.run, a.records, err
}

// Settled implements store.Reader. ErrNotFound is an answer, too.
func (s *Store) Settled(ctx context.Context, id, key string) (interaction.Record, error) {
	return s.record("settled", nameOf(id)+" "+key, func() (interaction.Record, error) {
		return s.Store.Settled(ctx, id, key)
	})
}

// Voted implements store.Reader. ErrNotFound is an answer, too.
func (s *Store) Voted(ctx context.Context, id, key string) (interaction.Record, error) {
	return s.record("voted", nameOf(id)+" "+key, func() (interaction.Record, error) {
		return s.Store.Voted(ctx, id, key)
	})
}

// Interaction implements store.Reader. ErrNotFound is an answer, too.
func (s *Store) Interaction(ctx context.Context, id string, number int) (interaction.Record, error) {
	return s.record("interaction", fmt.Sprintf("%s %d", nameOf(id), number), func() (interaction.Record, error) {
		return s.Store.Interaction(ctx, id, number)
	})
}

// record reads a settled interaction.
func (s *Store) record(point, of string, do func() (interaction.Record, error)) (interaction.Record, error) {
	type answer struct {
		record interaction.Record
		err    error
	}
	a, err := read(s, func() (a answer, err error) {
		a.record, a.err = do()
		return a, nil
	}, func(answer) Point { return named(point, false, []string{of}) })
	if err != nil {
		return a.record, err
	}
	return a.record, a.err
}

// Usage implements store.Reader.
func (s *Store) Usage(ctx context.Context, id string) ([]store.TurnUsage, error) {
	return read(s, func() ([]store.TurnUsage, error) {
		return s.Store.Usage(ctx, id)
	}, func([]store.TurnUsage) Point { return named("usage", false, []string{nameOf(id)}) })
}

// Journal implements store.Reader.
func (s *Store) Journal(ctx context.Context, id string) ([]interaction.JournalEntry, error) {
	return read(s, func() ([]interaction.JournalEntry, error) {
		return s.Store.Journal(ctx, id)
	}, func([]interaction.JournalEntry) Point { return named("journal", false, []string{nameOf(id)}) })
}

// Due implements store.Reader.
func (s *Store) Due(ctx context.Context, now time.Time, limit int) ([]store.Run, time.Time, error) {
	type answer struct {
		due  []store.Run
		next time.Time
	}
	a, err := read(s, func() (a answer, err error) {
		a.due, a.next, err = s.Store.Due(ctx, now, limit)
		return a, err
	}, func(a answer) Point { return about("due", false, a.due) })
	return a.due, a.next, err
}

// Orphans implements store.Reader.
func (s *Store) Orphans(ctx context.Context, skip, limit int) ([]store.Run, error) {
	return read(s, func() ([]store.Run, error) { return s.Store.Orphans(ctx, skip, limit) },
		func(found []store.Run) Point { return about("orphans", false, found) })
}

// Nodes implements store.Registry.
func (s *Store) Nodes(ctx context.Context) ([]store.Node, error) {
	return read(s, func() ([]store.Node, error) {
		return s.Store.Nodes(ctx)
	}, func([]store.Node) Point { return Point{Name: "nodes", Upkeep: true} })
}

// Departures implements store.Registry.
func (s *Store) Departures(ctx context.Context) ([]store.Departure, error) {
	return read(s, func() ([]store.Departure, error) {
		return s.Store.Departures(ctx)
	}, func([]store.Departure) Point { return Point{Name: "departures", Upkeep: true} })
}

// Pools implements store.Registry.
func (s *Store) Pools(ctx context.Context) ([]store.PoolUse, error) {
	return read(s, func() ([]store.PoolUse, error) {
		return s.Store.Pools(ctx)
	}, func([]store.PoolUse) Point { return Point{Name: "pools", Upkeep: true} })
}

// Confirm implements store.Confirmer.
func (s *Store) Confirm(ctx context.Context, confirmed func(store.Reader) error) error {
	_, err := read(s, func() (struct{}, error) {
		return struct{}{}, s.Store.Confirm(ctx, confirmed)
	}, func(struct{}) Point {
		return Point{Name: "confirm"}
	})
	return err
}
