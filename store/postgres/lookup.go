package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store"
)

// Records are read one by one, by everybody who replies, cancels or waits: so those who read at one
// time share a statement, as commits do.
const (
	lookups    = 2   // statements at one time
	lookupSize = 256 // runs in one
)

// lookup is a call of Run.
type lookup struct {
	id   string
	run  store.Run
	err  error
	done chan struct{} // closed when run and err are set
}

// lookupText sends no record that this process has already.
var lookupText = sql(
	`SELECT v.i, s.n, s.version, CASE WHEN s.n = v.n AND s.version = v.version THEN NULL ELSE s.record END
	FROM unnest($1::text[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS v (id, n, version, i)
	CROSS JOIN LATERAL (SELECT n FROM interlude.runs WHERE runs.id = v.id LIMIT 1) r
	CROSS JOIN LATERAL (SELECT n, version, record FROM interlude.states WHERE states.n = r.n LIMIT 1) s`)

// Run implements store.Reader.
func (s *Store) Run(ctx context.Context, id string) (store.Run, error) {
	switch {
	case !storable(id):
		return store.Run{}, unknown(id)
	case ctx.Err() != nil:
		return store.Run{}, ctx.Err()
	case !s.calls.begin(s.closed):
		return store.Run{}, store.ErrClosed
	}
	defer s.calls.pending.Done()
	l := &lookup{id: id, done: make(chan struct{})}
	select {
	case s.reads <- l:
	case <-ctx.Done():
		return store.Run{}, ctx.Err()
	}
	select {
	case <-l.done:
		return l.run, l.err
	case <-ctx.Done():
		return store.Run{}, ctx.Err()
	}
}

// looking serves calls of Run until the store is closed. What it reads was committed when the call
// began, or later.
func (s *Store) looking() {
	for l := range s.reads {
		all := []*lookup{l}
	gathering:
		for len(all) < lookupSize {
			select {
			case l, ok := <-s.reads:
				if !ok {
					break gathering
				}
				all = append(all, l)
			default:
				break gathering
			}
		}
		s.lookUp(all)
	}
}

func (s *Store) lookUp(all []*lookup) {
	ctx, cancel := context.WithTimeout(s.live, s.o.Timeout)
	defer cancel()
	ids, rows, versions := make([]string, len(all)), make([]int64, len(all)), make([]int64, len(all))
	known := make([]stored, len(all))
	for i, l := range all {
		ids[i], l.err = l.id, unknown(l.id)
		if k, ok := s.recent.get(l.id); ok {
			known[i], rows[i], versions[i] = k, k.n, int64(k.run.Version)
		}
	}
	_, err := asked(ctx, s.pool, &s.reader, s.texts[lookupText], func(row pgx.CollectableRow) (none struct{}, _ error) {
		var i int
		var n, version int64
		var record []byte
		if err := row.Scan(&i, &n, &version, &record); err != nil {
			return none, err
		}
		l := all[i-1]
		if record == nil {
			l.run, l.err = known[i-1].run.Clone(), nil
			return none, nil
		}
		if l.run, l.err = store.Decode(record); l.err == nil {
			kept := l.run.Clone()
			s.recent.put(stored{n: n, run: &kept}, len(record))
		}
		return none, nil
	}, ids, rows, versions)
	if err != nil {
		s.recent.doubt(err)
	}
	for _, l := range all {
		if err != nil {
			l.run, l.err = store.Run{}, fmt.Errorf("postgres: read: %w", explain(err))
		}
		close(l.done)
	}
}
