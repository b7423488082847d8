package postgres

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store/internal/claim"
	"github.com/interlude-go/interlude/store/internal/entry"
	"github.com/interlude-go/interlude/store/internal/refuse"
)

// peeked is a claim's view without locks. For a claim of any engine, only any is known.
type peeked struct {
	any      bool    // there may be something to claim
	ready    *string // the id of a ready run, even of a full pool; nil: none is ready
	full     bool    // a ready run may need a slot of a full pool, or of a full key
	released bool    // the claim will make a delayed run ready
	suspects bool    // a suspect is ready, or released may be one
	nextDue  *int64  // see ClaimRequest.NextDue
}

// peek looks for something to claim. It takes no lock and writes nothing, since idle nodes call it
// often. For a claim of any engine it also finds the engines with ready runs, in any pool.
func (c *claimTx) peek(ctx context.Context) (seen peeked, _ error) {
	var registered bool
	text, args := peekText, []any{c.req.Node, c.req.Now.UnixMicro(), c.engines}
	columns := []any{&registered, &seen.any, &seen.released, &seen.ready, &seen.full, &seen.suspects, &seen.nextDue}
	if c.req.Engines == nil {
		text, args, columns = peekAnyText, args[:2], append(columns[:2], &c.engines)
		seen.suspects = true
	} else {
		args = append(args, arrayText(entry.SuspectEngines(c.req.Engines)))
	}
	scan := func(row pgx.CollectableRow) (none struct{}, _ error) { return none, row.Scan(columns...) }
	_, err := queryAfter(ctx, c.pool, c.settings(), c.texts[text], scan, args...)
	switch {
	case err != nil:
		return seen, err
	case !registered:
		return seen, refuse.NotRegistered(c.req.Node)
	}
	if c.req.Engines == nil {
		seen.any = seen.any || c.engines != noEngines
		seen.full = c.engines != noEngines // unknown
		return seen, nil
	}
	seen.any, seen.suspects = seen.any || seen.released, seen.suspects || seen.released
	if c.req.NextDue != nil {
		var next time.Time
		if seen.nextDue != nil {
			next = timeOf(*seen.nextDue)
		}
		c.req.NextDue(next)
	}
	return seen, nil
}

var (
	// peekText is for given engines. It reports a delayed run whose time has come for any engine:
	// the next claim makes the run ready, so that it is not reported again.
	peekText = sql(`SELECT EXISTS (SELECT FROM interlude.nodes WHERE id = $1::text),
		coalesce(u.room, false)
		OR EXISTS (SELECT FROM interlude.states WHERE owner = $1::text AND slot AND state = 'queued'),
		EXISTS (SELECT FROM interlude.states WHERE delayed_until IS NOT NULL AND delayed_until <= $2::bigint),
		r.id, coalesce(u.is_full, false),
		(SELECT true FROM unnest($4::bytea[]) AS e (engine) CROSS JOIN LATERAL (
			SELECT FROM interlude.states WHERE ready AND states.engine = e.engine LIMIT 1) s LIMIT 1) IS NOT NULL,
		least(
			(SELECT deadline FROM interlude.states WHERE deadline IS NOT NULL AND deadline < ` + keptText + `
				ORDER BY deadline LIMIT 1),
			(SELECT delayed_until FROM interlude.states WHERE delayed_until IS NOT NULL AND delayed_until > $2::bigint
				AND delayed_until < ` + heldRange + ` ORDER BY delayed_until LIMIT 1),
			(SELECT delayed_until - ` + heldFrom + ` FROM interlude.states WHERE delayed_until IS NOT NULL
				AND delayed_until > ` + heldRange + ` AND delayed_until < ` + heldFrom + ` + ` + keptText + `
				ORDER BY delayed_until LIMIT 1))
		FROM (SELECT (SELECT s.id FROM unnest($3::bytea[]) AS e (engine) CROSS JOIN LATERAL (
			SELECT id FROM interlude.states WHERE ready AND states.engine = e.engine LIMIT 1) s LIMIT 1) AS id
			OFFSET 0) AS r
		CROSS JOIN LATERAL (SELECT bool_or(h.held < p.capacity) AS room,
				bool_or(h.held >= p.capacity OR p.key_capacity > 0) AS is_full
			FROM interlude.pools p CROSS JOIN LATERAL (
				SELECT count(*) AS held FROM interlude.states WHERE slot AND states.pool = p.name) h
			WHERE r.id IS NOT NULL AND (SELECT true FROM unnest($3::bytea[]) AS e (engine) CROSS JOIN LATERAL (
				SELECT FROM interlude.states WHERE ready AND states.engine = e.engine AND states.pool = p.name
					LIMIT 1) s LIMIT 1)) AS u`)
	// peekAnyText finds the engines of the ready runs by one seek each, and adds the engines of the
	// runs that releaseText will make ready.
	peekAnyText = sql(`WITH RECURSIVE engines (engine) AS (
			(SELECT engine FROM interlude.states WHERE ready ORDER BY engine LIMIT 1)
			UNION ALL
			SELECT next.engine FROM engines CROSS JOIN LATERAL (
				SELECT s.engine FROM interlude.states s WHERE s.ready AND s.engine > engines.engine
					ORDER BY s.engine LIMIT 1
			) next
		)
		SELECT EXISTS (SELECT FROM interlude.nodes WHERE id = $1::text),
			EXISTS (SELECT FROM interlude.states WHERE owner = $1::text AND slot AND state = 'queued'),
			ARRAY (SELECT engine FROM engines UNION (
				SELECT engine FROM interlude.states WHERE delayed_until IS NOT NULL AND delayed_until <= $2::bigint
					ORDER BY delayed_until LIMIT 1000))::text`)
	// claimGuardText locks the node's row: expiring the node waits until the claim is stored, so that
	// no claim is stored afterwards. If there are other nodes, the commit does not wait until it is
	// durable, so that their claims wait only for this one's decision: see commit.
	claimGuardText = sql(`SELECT EXISTS (SELECT FROM interlude.nodes WHERE id = $1::text FOR KEY SHARE),
		set_config('synchronous_commit', CASE WHEN EXISTS (SELECT FROM interlude.nodes WHERE id <> $1::text)
			THEN 'off' ELSE current_setting('synchronous_commit') END, true) = 'off',
		` + indexPlans + `, ` + nestedLoops + `, ` + idleTimeout + `, ` + showWarnings)
	// releaseText makes runs ready whose not-before time has come.
	releaseText = sql(`UPDATE interlude.states SET ready = true, delayed_until = NULL WHERE n = ANY (ARRAY (
		SELECT n FROM interlude.states WHERE delayed_until IS NOT NULL AND delayed_until <= $1::bigint
			ORDER BY delayed_until LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED))`)
	stickyText = sql(`SELECT n, id, version FROM interlude.states WHERE owner = $1::text AND slot AND state = 'queued'
		ORDER BY queued_at, id LIMIT $2::bigint FOR NO KEY UPDATE SKIP LOCKED`)
	// lockText locks the pools in one order, so that claims wait for each other without deadlocks,
	// except pools without ready runs of the engines.
	lockText = sql(`SELECT name FROM interlude.pools WHERE (SELECT true FROM unnest($1::bytea[]) AS e (engine)
		CROSS JOIN LATERAL (
			SELECT FROM interlude.states WHERE ready AND states.engine = e.engine AND states.pool = pools.name
				LIMIT 1) s LIMIT 1)
		ORDER BY name FOR NO KEY UPDATE`)
	// readyText counts each locked pool's used slots. For a pool without a capacity by key it also
	// locks ready runs, one more than the pool has room for: as many of each engine, merged, so
	// that it visits no run of another engine. It returns no row for a pool with room, and without
	// such a capacity, if another claim has started the pool's ready runs since lockText's snapshot.
	readyText = sql(`SELECT p.name, p.capacity, p.key_capacity, h.held, r.n, r.id, r.version
		FROM interlude.pools p
		CROSS JOIN LATERAL (SELECT count(*) AS held FROM interlude.states WHERE slot AND states.pool = p.name) h
		CROSS JOIN LATERAL (SELECT
			CASE WHEN p.key_capacity = 0 AND h.held < p.capacity THEN least($1::bigint, p.capacity - h.held) + 1
				ELSE 0 END AS most) m
		LEFT JOIN LATERAL (
			SELECT s.n, s.id, s.version FROM unnest($2::bytea[]) AS e (engine) CROSS JOIN LATERAL (
				SELECT n, id, version, priority, key, queued_at FROM interlude.states
				WHERE ready AND states.engine = e.engine AND states.pool = p.name
					ORDER BY priority DESC, key, queued_at, id
				LIMIT m.most FOR NO KEY UPDATE SKIP LOCKED
			) s ORDER BY s.priority DESC, s.key, s.queued_at, s.id LIMIT m.most
		) r ON true
		WHERE r.n IS NOT NULL OR p.key_capacity > 0 OR h.held >= p.capacity`)
)

const noEngines = "{}"

type openPool struct {
	slots.Pool
	held  int
	ready []pick // at most one more than there is room for; none in a pool with a bound by key
}

// pickRuns picks runs that already hold a slot, then runs pool by pool. Runs that recently failed
// to start come last, because each picked run uses a place of the claim even if it cannot be
// started. drained: no other run is ready.
func (c *claimTx) pickRuns(ctx context.Context) (drained bool, _ error) {
	pools, err := c.lockPools(ctx)
	if err != nil {
		return false, err
	}
	last := c.pickSticky()
	drained = true
	for _, p := range claim.Rotate(&c.rotation, pools, func(p openPool) string { return p.Name }) {
		want := c.req.Max - len(c.picks)
		free := min(want, p.Capacity-p.held)
		switch {
		case free <= 0:
			drained = false
		case p.KeyCapacity == 0 && len(p.ready) <= free: // all fit
			first, failed := claim.Defer(&c.rotation, p.ready, pickID)
			c.picks, last = append(c.picks, first...), append(last, failed...)
		default:
			q := &readyQueue{claimTx: c, ctx: ctx, pool: p.Pool, found: make(map[string]pick)}
			drained = false
			ids, err := c.rotation.Select(p.Pool, p.held, q, want)
			if err != nil {
				return false, err
			}
			for _, id := range ids {
				c.picks = append(c.picks, q.found[id])
			}
		}
	}
	room := c.req.Max - len(c.picks)
	c.picks = append(c.picks, last[:min(len(last), room)]...)
	return drained && len(last) <= room && len(c.sticky) <= c.req.Max, nil
}

func (c *claimTx) pickSticky() (last []pick) {
	first, last := claim.Defer(&c.rotation, c.sticky, pickID)
	c.picks = append(c.picks, first[:min(len(first), c.req.Max)]...)
	return last
}

func pickID(p pick) string { return p.id }

// lockPools begins the transaction. In one exchange it locks the node's sticky runs and the pools
// with ready runs, and prefetches the choices.
func (c *claimTx) lockPools(ctx context.Context) ([]openPool, error) {
	sticky := c.rotation.StartClaim(c.req.Max)
	if c.req.Suspects {
		sticky = 0
	}
	b := newBatch(6)
	b.Queue(beginText)
	b.Queue(c.texts[claimGuardText], c.req.Node)
	b.Queue(c.texts[releaseText], c.req.Now.UnixMicro())
	b.Queue(c.texts[stickyText], c.req.Node, sticky)
	b.Queue(c.texts[lockText], c.engines)
	b.Queue(c.texts[readyText], c.req.Max, c.engines)
	results := sendBatch(ctx, c.conn, b, 0)
	pools, err := c.readPools(results)
	if closing := results.Close(); err == nil {
		err = closing
	}
	return pools, err
}

// readPools reads the results of lockPools, and sorts the pools by name for Rotate.
func (c *claimTx) readPools(results pgx.BatchResults) (pools []openPool, _ error) {
	if _, err := results.Exec(); err != nil {
		return nil, err
	}
	var registered bool
	if err := results.QueryRow().Scan(&registered, &c.unflushed,
		nil, nil, nil, nil, nil, nil, nil, nil, nil); err != nil {
		return nil, err
	}
	if !registered {
		return nil, refuse.NotRegistered(c.req.Node)
	}
	if _, err := results.Exec(); err != nil {
		return nil, err
	}
	rows, _ := results.Query() // CollectRows returns its error too
	var err error
	if c.sticky, err = pgx.CollectRows(rows, scanPick); err != nil {
		return nil, err
	}
	rows, _ = results.Query()
	locked, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	rows, _ = results.Query()
	var p openPool
	var n *int64
	var id *string
	var version *uint64
	_, err = pgx.ForEachRow(rows, []any{&p.Name, &p.Capacity, &p.KeyCapacity, &p.held, &n, &id, &version},
		func() error {
			if !slices.Contains(locked, p.Name) { // something became ready there after the lock
				return nil
			}
			if len(pools) == 0 || pools[len(pools)-1].Name != p.Name {
				pools = append(pools, p)
			}
			if last := &pools[len(pools)-1]; n != nil {
				last.ready = append(last.ready, pick{*n, *id, *version, true})
			}
			return nil
		})
	slices.SortFunc(pools, func(a, b openPool) int { return strings.Compare(a.Name, b.Name) })
	return pools, err
}

func scanPick(row pgx.CollectableRow) (p pick, _ error) {
	p.locked = true
	err := row.Scan(&p.row, &p.id, &p.version)
	return p, err
}
