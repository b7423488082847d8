package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/refuse"
)

// A commit is verified before it is written, so that refusals are exact. The writing statement
// repeats the conditions that a race could change: version, fence, key and the parker's departure.
// So a verification may be out of date.

// verifyFromCache verifies a commit against the cached record of its run, if that has the expected
// version.
func (s *Store) verifyFromCache(c *pendingCommit) {
	prev, ok := s.cache.get(c.Run.ID)
	if c.Expect > 0 && ok && prev.run.Version == c.Expect && prev.run.Incarnation == c.Run.Incarnation &&
		c.ValidateNext(prev.run, false) == nil {
		c.row, c.parker, c.verified = prev.row, parkerOf(prev.run), true
	}
}

// verify checks the unverified commits, finishes the rejected ones, and returns the others.
func (s *Store) verify(ctx context.Context, commits []*pendingCommit) []*pendingCommit {
	var unverified, verified []*pendingCommit
	for _, c := range commits {
		if c.Expect > 0 && !c.verified {
			s.verifyFromCache(c) // this flush may have written the run since
		}
		if c.Expect > 0 && !c.verified {
			unverified = append(unverified, c)
		} else {
			verified = append(verified, c)
		}
	}
	if len(unverified) == 0 {
		return verified
	}
	return append(verified, s.verifyFromDatabase(ctx, unverified)...)
}

// verifyUnwritten rechecks the commits that a transaction has not written, finishes the rejected
// ones, and returns the others for a retry: they met a change that was rolled back.
func (s *Store) verifyUnwritten(ctx context.Context, commits []*pendingCommit, try int) []*pendingCommit {
	if len(commits) == 0 {
		return nil
	}
	left := s.verifyFromDatabase(ctx, commits)
	if try < maxTries {
		return left
	}
	for _, c := range left {
		c.finish(errNeverSettled(c.Run.ID))
	}
	return nil
}

func errNeverSettled(id string) error {
	return fmt.Errorf("postgres: write: %w: run %s was neither stored nor refused in %d tries", ErrSerialization, id,
		maxTries)
}

// verifyFromDatabase checks commits against the current rows, finishes the rejected ones, and
// returns the others.
func (s *Store) verifyFromDatabase(ctx context.Context, commits []*pendingCommit) (left []*pendingCommit) {
	snapshots, err := s.loadSnapshots(ctx, s.pool, s.settings(), commits)
	for try := 0; lostRace(err) && try < maxTries; try++ {
		snapshots, err = s.loadSnapshots(ctx, s.pool, s.settings(), commits)
	}
	for i, c := range commits {
		if err != nil {
			c.finish(fmt.Errorf("postgres: write: %w", explain(err)))
			continue
		}
		prev, refused := c.verifyAgainst(&snapshots[i])
		if prev != nil {
			s.cache.put(storedRun{row: snapshots[i].row, run: prev}, len(snapshots[i].record))
		}
		if refused != nil {
			c.finish(refused)
			continue
		}
		left = append(left, c)
	}
	return left
}

// snapshot has the facts that decide whether a commit is accepted, read by one statement.
type snapshot struct {
	row        int64 // 0: unknown run
	record     []byte
	registered bool // an earlier reply of the run had the commit's key
	keyUsed    bool // an earlier reply of the run had the commit's idempotency key
	poolExists bool
	departed   *int64 // departure time of the node that parked the run
	// incarnation is the database's, unless the server's timeline has changed.
	incarnation     uint64
	timelineChanged bool
}

// snapshotText asks for a used key by a LIMIT instead of EXISTS, which some versions of PostgreSQL
// answer from a hash table of all settled interactions.
var snapshotText = sql(`SELECT coalesce(r.n, 0), s.record,
		EXISTS (SELECT FROM interlude.nodes WHERE nodes.id = v.node),
		(SELECT true FROM interlude.settled WHERE settled.run = r.n AND settled.key = v.key LIMIT 1) IS NOT NULL,
		EXISTS (SELECT FROM interlude.pools WHERE pools.name = v.pool),
		CASE WHEN s.owner IS NOT NULL AND NOT s.slot
			THEN (SELECT d.at FROM interlude.departed d WHERE d.id = s.owner) END,
		` + incarnationOf + `, ` + timelineChanged + `
	FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[]) WITH ORDINALITY AS v (id, node, key, pool, i)
	LEFT JOIN LATERAL (SELECT n FROM interlude.runs WHERE runs.id = v.id LIMIT 1) r ON true
	LEFT JOIN LATERAL (SELECT record, owner, slot FROM interlude.states WHERE states.n = r.n LIMIT 1) s ON true
	ORDER BY v.i`)

// loadSnapshots loads the commits' snapshots in order, after the statement settings (see
// queryAfter).
func (s *Store) loadSnapshots(ctx context.Context, q querier, settings string, commits []*pendingCommit) ([]snapshot,
	error,
) {
	ids, pools := make([]string, len(commits)), make([]string, len(commits))
	nodes, keys := make([]*string, len(commits)), make([][]byte, len(commits))
	for i, c := range commits {
		ids[i], pools[i] = c.Run.ID, c.Run.Pool
		if c.Fence != nil {
			nodes[i] = &c.Fence.Node
		}
		if keyed := c.Keyed(); keyed != nil {
			keys[i] = bytesColumn(keyed.Key)
		}
	}
	snapshots, err := queryAfter(ctx, q, settings, s.texts[snapshotText],
		func(row pgx.CollectableRow) (v snapshot, _ error) {
			err := row.Scan(&v.row, &v.record, &v.registered, &v.keyUsed, &v.poolExists, &v.departed, &v.incarnation,
				&v.timelineChanged)
			return v, err
		}, ids, nodes, keys, pools)
	switch {
	case err != nil:
	case len(snapshots) != len(commits):
		err = fmt.Errorf("%w: %d rows for %d runs", store.ErrCorrupt, len(snapshots), len(commits))
	case snapshots[0].timelineChanged:
		// not in a host's transaction: until its end, all other writers would wait for the number
		_, err = s.loadIncarnation(ctx, s.pool)
	default:
		s.incarnation.Store(snapshots[0].incarnation)
	}
	return snapshots, err
}

// verifyAgainst returns why the commit is refused, or nil, and the previous record, if any.
func (c *pendingCommit) verifyAgainst(v *snapshot) (prev *store.Run, refused error) {
	id := c.Run.ID
	switch {
	case c.Expect == 0 && v.row != 0:
		return nil, refuse.Exists(id)
	case c.Expect == 0 && !v.poolExists:
		return nil, refuse.UnknownPool(c.Run.Pool)
	case c.Expect == 0:
		return nil, nil //nolint:nilnil // a run that is created has no previous record
	case v.row == 0:
		return nil, refuse.NotFound(id)
	}
	run, err := store.Decode(v.record)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	run.Incarnation = v.incarnation
	known := refuse.Facts{
		Registered: func(string) (bool, error) { return v.registered, nil },
		KeyUsed:    func(string) (bool, error) { return v.keyUsed, nil },
		Departed:   func(string) (time.Time, error) { return departureTime(v.departed), nil },
	}
	if refused, _ := refuse.Change(&c.Commit, &run, known); refused != nil {
		return &run, refused
	}
	c.row, c.parker, c.verified = v.row, parkerOf(&run), true
	return &run, nil
}
