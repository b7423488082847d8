package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/store"
)

// pruneText passes over what another prune is deleting already.
var pruneText = sql(`WITH old AS MATERIALIZED (
		SELECT n FROM interlude.states WHERE finished_at IS NOT NULL AND finished_at < $1::bigint
			ORDER BY finished_at, id LIMIT $2::bigint FOR UPDATE SKIP LOCKED
	), events AS (
		DELETE FROM interlude.events WHERE run = ANY (ARRAY (SELECT n FROM old))
	), settled AS (
		DELETE FROM interlude.settled WHERE run = ANY (ARRAY (SELECT n FROM old))
	), runs AS (
		DELETE FROM interlude.runs WHERE n = ANY (ARRAY (SELECT n FROM old))
	)
	DELETE FROM interlude.states WHERE n = ANY (ARRAY (SELECT n FROM old))`)

// pruneSize is how many runs one transaction deletes.
const pruneSize = 500

// Prune implements store.Writer. Each part of it is a transaction of its own.
func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	if limit < 1 {
		return 0, fmt.Errorf("%w: limit is %d, want at least 1", store.ErrInvalid, limit)
	}
	pruned := 0
	for pruned < limit {
		part := min(limit-pruned, pruneSize)
		n, err := s.change(ctx, pruneText, before.UnixMicro(), part)
		pruned += int(n)
		if err != nil || int(n) < part {
			return pruned, err
		}
	}
	return pruned, nil
}
