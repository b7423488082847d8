package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/groupcommit"
	"github.com/interlude-go/interlude/store/internal/refuse"
)

// Every reply, cancel and wait reads a single record, so concurrent calls of Run share a statement,
// as commits share a transaction.
const (
	runReaders  = 2   // concurrent statements
	maxRunReads = 256 // runs in one statement
)

type runRead struct {
	id  string
	run store.Run
}

type runReadJob = groupcommit.Job[*runRead]

// runsText returns no record whose current version is cached.
var runsText = sql(
	`SELECT v.i, s.n, s.version, CASE WHEN s.n = v.n AND s.version = v.version AND v.incarnation = ` + incarnationOf + `
			THEN NULL ELSE s.record END, ` + incarnationOf + `,
		CASE WHEN s.owner IS NOT NULL AND NOT s.slot
			THEN (SELECT d.at FROM interlude.departed d WHERE d.id = s.owner) END
	FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) WITH ORDINALITY
		AS v (id, n, version, incarnation, i)
	CROSS JOIN LATERAL (SELECT n FROM interlude.runs WHERE runs.id = v.id LIMIT 1) r
	CROSS JOIN LATERAL (SELECT n, version, record, owner, slot FROM interlude.states WHERE states.n = r.n LIMIT 1) s`)

func (s *Store) Run(ctx context.Context, id string) (store.Run, error) {
	if !storable(id) {
		return store.Run{}, refuse.NotFound(id)
	}
	r := &runRead{id: id}
	if err := s.runReads.Do(ctx, r, 1); err != nil {
		return store.Run{}, err
	}
	return r.run, nil
}

func (s *Store) Recent(id string) (store.Run, bool) {
	cached, ok := s.cache.get(id)
	if !ok {
		return store.Run{}, false
	}
	return cached.run.Clone(), true
}

// readRuns serves calls of Run with one statement. Its data was committed when the calls began, or
// later.
func (s *Store) readRuns(jobs []*runReadJob) {
	ctx, cancel := context.WithTimeout(s.live, s.o.Timeout)
	defer cancel()
	ids, rows := make([]string, len(jobs)), make([]int64, len(jobs))
	versions, incarnations := make([]int64, len(jobs)), make([]int64, len(jobs))
	cached, errs := make([]storedRun, len(jobs)), make([]error, len(jobs))
	for i, j := range jobs {
		ids[i], errs[i] = j.Work.id, refuse.NotFound(j.Work.id)
		if c, ok := s.cache.get(ids[i]); ok {
			cached[i], rows[i], versions[i] = c, c.row, int64(c.run.Version)
			incarnations[i] = int64(c.run.Incarnation)
		}
	}
	scan := func(row pgx.CollectableRow) (none struct{}, _ error) {
		var i int
		var n, version int64
		var record []byte
		var departed *int64
		var incarnation uint64
		if err := row.Scan(&i, &n, &version, &record, &incarnation, &departed); err != nil {
			return none, err
		}
		read, err := jobs[i-1].Work, &errs[i-1]
		at := departureTime(departed)
		if record == nil {
			read.run, *err = cached[i-1].run.Clone(), nil
			read.run.ShowDeparture(at)
			return none, nil
		}
		stored := new(store.Run)
		if *err = store.DecodeInto(record, stored); *err == nil {
			stored.Incarnation = incarnation
			read.run = stored.Clone()
			read.run.ShowDeparture(at)
			s.cache.put(storedRun{row: n, run: stored}, len(record))
		}
		return none, nil
	}
	_, err := queryRetrying(ctx, s.pool, &s.reader, s.texts[runsText], scan, ids, rows, versions,
		incarnations)
	if err != nil {
		s.cache.clearIfDisconnected(err)
	}
	for i, j := range jobs {
		if err != nil {
			errs[i] = fmt.Errorf("postgres: read: %w", explain(err))
		}
		j.Finish(errs[i])
	}
}
