package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store"
)

// recall finds the previous record of an entry among the recent ones, if that is the one that it is
// made on.
func (s *Store) recall(e *entry) {
	prev, ok := s.recent.get(e.Run.ID)
	if e.Expect > 0 && ok && prev.run.Version == e.Expect && e.CheckNext(prev.run, false) == nil {
		e.n, e.known = prev.n, true
	}
}

// known looks at the rows of entries whose previous record is not known, finishes those that are
// refused, and returns the others. Whatever is seen may have changed when the entry is written: its
// statement says what it is made on.
func (s *Store) known(ctx context.Context, entries []*entry) []*entry {
	var unknown, known []*entry
	for _, e := range entries {
		if e.Expect > 0 && !e.known {
			s.recall(e) // another entry of this flush may have written it
		}
		if e.Expect > 0 && !e.known {
			unknown = append(unknown, e)
		} else {
			known = append(known, e)
		}
	}
	if len(unknown) == 0 {
		return known
	}
	return append(known, s.look(ctx, unknown)...)
}

// judged says why entries were not stored. Those that nothing speaks against have met with a change
// that was taken back, and are tried again.
func (s *Store) judged(ctx context.Context, entries []*entry, try int) []*entry {
	if len(entries) == 0 {
		return nil
	}
	left := s.look(ctx, entries)
	if try < maxTries {
		return left
	}
	for _, e := range left {
		e.finish(fmt.Errorf("postgres: write: %w: run %s was neither stored nor refused in %d tries", ErrSerialization,
			e.Run.ID, maxTries))
	}
	return nil
}

// look finishes the entries that are refused as the rows stand, and returns the others.
func (s *Store) look(ctx context.Context, entries []*entry) (left []*entry) {
	seen, err := s.sightings(ctx, s.pool, s.steadied(), entries)
	for try := 0; again(err) && try < maxTries; try++ {
		seen, err = s.sightings(ctx, s.pool, s.steadied(), entries)
	}
	for i, e := range entries {
		switch {
		case err != nil:
			e.finish(fmt.Errorf("postgres: write: %w", explain(err)))
		default:
			prev, refused := e.judge(&seen[i])
			if prev != nil {
				s.recent.put(stored{n: seen[i].n, run: prev}, len(seen[i].record))
			}
			if refused != nil {
				e.finish(refused)
				continue
			}
			left = append(left, e)
		}
	}
	return left
}

// sighting is what stands in the way of an entry, or not.
type sighting struct {
	n          int64 // 0: there is no such run
	record     []byte
	registered bool // the node of its fence
	taken      bool // the idempotency key
	pool       bool // there is its pool
}

var lookText = sql(`SELECT coalesce(r.n, 0), s.record,
		EXISTS (SELECT FROM interlude.nodes WHERE nodes.id = v.node),
		EXISTS (SELECT FROM interlude.settled WHERE settled.run = r.n AND settled.key = v.key),
		EXISTS (SELECT FROM interlude.pools WHERE pools.name = v.pool)
	FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[]) WITH ORDINALITY AS v (id, node, key, pool, i)
	LEFT JOIN LATERAL (SELECT n FROM interlude.runs WHERE runs.id = v.id LIMIT 1) r ON true
	LEFT JOIN LATERAL (SELECT record FROM interlude.states WHERE states.n = r.n LIMIT 1) s ON true
	ORDER BY v.i`)

// sightings are those of the entries, in their order. The statement before goes with the question
// (see ask).
func (s *Store) sightings(ctx context.Context, q querier, before string, entries []*entry) ([]sighting, error) {
	ids, pools := make([]string, len(entries)), make([]string, len(entries))
	nodes, keys := make([]*string, len(entries)), make([][]byte, len(entries))
	for i, e := range entries {
		ids[i], pools[i] = e.Run.ID, e.Run.Pool
		if e.Fence != nil {
			nodes[i] = &e.Fence.Node
		}
		if e.Settled != nil {
			keys[i] = bytesOf(e.Settled.Key)
		}
	}
	seen, err := ask(ctx, q, before, s.texts[lookText], func(row pgx.CollectableRow) (v sighting, _ error) {
		err := row.Scan(&v.n, &v.record, &v.registered, &v.taken, &v.pool)
		return v, err
	}, ids, nodes, keys, pools)
	if err == nil && len(seen) != len(entries) {
		err = fmt.Errorf("%w: %d rows for %d runs", store.ErrCorrupt, len(seen), len(entries))
	}
	return seen, err
}

// judge says why an entry is refused, nil when nothing speaks against it, and returns the previous
// record if there is one.
func (e *entry) judge(v *sighting) (prev *store.Run, refused error) {
	id := e.Run.ID
	switch {
	case e.Expect == 0 && v.n != 0:
		return nil, fmt.Errorf("%w: run %s", store.ErrExists, id)
	case e.Expect == 0 && !v.pool:
		return nil, fmt.Errorf("%w: %s", store.ErrUnknownPool, e.Run.Pool)
	case e.Expect == 0:
		return nil, nil //nolint:nilnil // what is created has no previous record
	case v.n == 0:
		return nil, unknown(id)
	}
	run, err := store.Decode(v.record)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	switch f := e.Fence; {
	case f != nil && (run.Owner != f.Node || run.Epoch != f.Epoch || !v.registered):
		return &run, fmt.Errorf("%w: run %s", store.ErrStaleEpoch, id)
	case run.Version != e.Expect:
		return &run, fmt.Errorf("%w: run %s is at version %d, not %d", store.ErrConflict, id, run.Version, e.Expect)
	}
	if err := e.CheckNext(&run, false); err != nil {
		return &run, err
	}
	if v.taken {
		return &run, fmt.Errorf("%w: run %s: the idempotency key is taken", store.ErrInvalid, id)
	}
	e.n, e.known = v.n, true
	return &run, nil
}

func unknown(id string) error { return fmt.Errorf("%w: run %.128s", store.ErrNotFound, id) }
