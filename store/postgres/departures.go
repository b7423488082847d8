package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store"
)

// Once a node has a departure, readers see its parked runs as recovered. A commit of a parked run
// that began earlier, and cannot see the departure, would store the run as never recovered. So each
// transaction that changes a parked run shares an advisory lock named for the node, from before it
// reads the departures until its end, and a departure is created only while the lock is free.
// Creation never waits for the lock, since a host's transaction may stay open without limit, and
// others would queue behind it; it is retried later.

var (
	// shareParkersText shares each node's lock, so that no departure is created in the meantime.
	shareParkersText = sql(`SELECT pg_advisory_xact_lock_shared(hashtextextended($1::text || id, 0))
		FROM unnest($2::text[]) AS id`)
	// goneParkersText finds the owners of parked runs by one seek per node, and returns the
	// unregistered ones without a departure.
	goneParkersText = sql(`WITH RECURSIVE parkers (id) AS (
			(SELECT s.owner FROM interlude.states s WHERE s.owner IS NOT NULL AND NOT s.slot ORDER BY s.owner LIMIT 1)
			UNION ALL
			SELECT next.owner FROM parkers CROSS JOIN LATERAL (
				SELECT s.owner FROM interlude.states s WHERE s.owner IS NOT NULL AND NOT s.slot
					AND s.owner > parkers.id ORDER BY s.owner LIMIT 1
			) AS next
		)
		SELECT id FROM parkers WHERE NOT EXISTS (SELECT FROM interlude.nodes WHERE nodes.id = parkers.id)
			AND NOT EXISTS (SELECT FROM interlude.departed WHERE departed.id = parkers.id)`)
	// departText creates a node's departure unless its lock is shared, and returns whether it did.
	departText = sql(`WITH lock AS MATERIALIZED (
			SELECT pg_try_advisory_xact_lock(hashtextextended($1::text || $2::text, 0)) AS free
		), made AS (
			INSERT INTO interlude.departed (id, at) SELECT $2::text, $3::bigint FROM lock WHERE free
			ON CONFLICT (id) DO NOTHING
		)
		SELECT free FROM lock`)
)

func (s *Store) parkerLock() string { return "interlude parker in " + s.o.Schema + ": " }

func parkerOf(prev *store.Run) string {
	if !prev.Parked() {
		return ""
	}
	return prev.Owner
}

// parkersOf are the nodes that parked the commits' runs, in one order for all transactions.
func parkersOf(commits []*pendingCommit) (ids []string) {
	for _, c := range commits {
		parker := c.parker
		if c.prev != nil {
			parker = parkerOf(&c.prev.Run)
		}
		if parker != "" && !slices.Contains(ids, parker) {
			ids = append(ids, parker)
		}
	}
	slices.Sort(ids)
	return ids
}

// addDepartures creates the missing departures, delayed ones in the background.
func (s *Store) addDepartures(ctx context.Context, now time.Time) error {
	left, err := s.tryDepartures(ctx, now)
	for wait := firstDeparturePause; left && err == nil && wait < slowDeparturePause; wait *= 2 {
		select {
		case <-time.After(wait):
			left, err = s.tryDepartures(ctx, now)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if !left || err != nil || s.departing.Swap(true) {
		return err
	}
	if !s.calls.add(s.closed) {
		return nil // the next call of Expire, by any process, makes them
	}
	defer s.calls.pending.Done()
	s.background.Go(func() {
		defer s.departing.Store(false)
		for wait := slowDeparturePause; left; wait = min(2*wait, lastDeparturePause) {
			select {
			case <-time.After(wait):
			case <-s.closed:
				return
			}
			if more, err := s.tryDepartures(s.live, now); err == nil {
				left = more
			}
		}
	})
	return nil
}

// The pauses between tries: the first, the first in the background, and the longest.
const (
	firstDeparturePause = time.Millisecond
	slowDeparturePause  = 32 * time.Millisecond
	lastDeparturePause  = time.Second
)

// tryDepartures creates the possible departures, and reports whether others are missing.
func (s *Store) tryDepartures(ctx context.Context, now time.Time) (left bool, _ error) {
	gone, err := readRows(ctx, &s.reader, s.texts[goneParkersText], pgx.RowTo[string])
	if err != nil {
		return false, err
	}
	for _, id := range gone {
		made, err := readRows(ctx, &s.reader, s.texts[departText], pgx.RowTo[bool], s.parkerLock(), id,
			store.DepartureTime(now).UnixMicro())
		if err != nil {
			return false, err
		}
		left = left || !made[0]
	}
	return left, nil
}
