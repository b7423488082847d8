package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/claim"
	"github.com/interlude-go/interlude/store/internal/entry"
	"github.com/interlude-go/interlude/store/internal/refuse"
)

// Claim implements store.Writer. It is a separate transaction that locks the rows of its pools,
// which serializes the claims of all nodes.
func (s *Store) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	if err := req.Validate(); err != nil {
		return nil, err
	}
	if !storable(req.Node) {
		return nil, refuse.NotRegistered(req.Node)
	}
	once := func(req store.ClaimRequest) ([]store.Claimed, error, error) { return s.claimOnce(ctx, req) }
	if s.o.NoGroupCommit {
		return claim.OneByOne(req, once)
	}
	claimed, failed, err := once(req)
	return claimed, errors.Join(failed, err)
}

func (s *Store) claimOnce(ctx context.Context, req store.ClaimRequest) (_ []store.Claimed, failed, _ error) {
	ctx, done, err := s.beginCall(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	for try := 0; ; try++ {
		c := &claimTx{Store: s, req: req, engines: arrayText(entry.ClaimedEngines(&req))}
		err := c.run(ctx)
		switch {
		case err == nil:
			return c.claimed, errors.Join(c.failures...), nil
		case errors.Is(err, store.ErrStaleEpoch):
			return nil, nil, err
		case errors.Is(err, errOldIncarnation) && try < maxTries:
		case !lostRace(err) || try == maxTries:
			return nil, nil, fmt.Errorf("postgres: claim: %w", explain(err))
		}
	}
}

type claimTx struct {
	*Store

	req     store.ClaimRequest
	engines string // of the picked runs, as arrayText writes them
	conn    *pgx.Conn

	unflushed bool   // the commit does not wait until it is durable
	sticky    []pick // queued runs that hold a slot of the node, oldest first
	picks     []pick
	commits   []*pendingCommit
	specs     [][]byte // by commit
	claimed   []store.Claimed
	failures  []error // of single runs
}

type pick struct {
	row     int64
	id      string
	version uint64
	locked  bool // the row is locked
}

// run picks runs, calls Start for each, and stores the commits.
func (c *claimTx) run(ctx context.Context) error {
	if !c.req.Hinted || c.req.Engines == nil { // only peek knows which engines have ready runs
		seen, err := c.peek(ctx)
		if err != nil {
			claim.SetDrained(&c.req, false)
			return err
		}
		if c.req.NoSuspects != nil {
			*c.req.NoSuspects = !seen.suspects
		}
		if !seen.any || c.req.Found != nil && seen.ready != nil {
			claim.SetDrained(&c.req, !seen.full)
			if seen.any {
				*c.req.Found = *seen.ready
			}
			return nil
		}
	}
	conn, err := c.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	c.conn = conn.Conn()
	c.counters.AddClaim()
	drained, err := c.pickRuns(ctx)
	if err == nil {
		err = c.startRuns(ctx)
	}
	if err == nil {
		err = c.commit(ctx)
	}
	claim.SetDrained(&c.req, err == nil && drained && len(c.claimed) == len(c.picks))
	if err != nil {
		c.cache.clearIfDisconnected(err)
		rollBack(ctx, c.conn)
	}
	return err
}

// startRuns calls Start for each picked run. If it fails, the run is unchanged.
func (c *claimTx) startRuns(ctx context.Context) error {
	loaded, err := c.loadPicks(ctx)
	if err != nil {
		return err
	}
	for _, p := range c.picks {
		prev, ok := loaded[p.row]
		if !ok { // locked by another transaction
			continue
		}
		commit, err := claim.Start(&c.req, prev.run, prev.spec)
		var pending *pendingCommit
		if err == nil {
			pending, err = encode(&commit)
		}
		if err != nil {
			c.failures = append(c.failures, c.rotation.Failed(p.id, err))
			continue
		}
		pending.row, pending.verified = prev.row, true
		c.commits = append(c.commits, pending)
		c.specs = append(c.specs, prev.spec)
	}
	return nil
}

var loadText = sql(`SELECT s.n, s.id, s.version, s.record, r.spec, ` + incarnationOf + `
	FROM interlude.states s JOIN interlude.runs r
	ON r.n = s.n
	WHERE s.n = ANY ($1::bigint[]) AND (s.ready OR s.slot AND s.state = 'queued')
		FOR NO KEY UPDATE OF s SKIP LOCKED`)

// loadPicks returns the picked runs' records and specs: from the cache if the row is locked and has
// the cached version, else from the database.
func (c *claimTx) loadPicks(ctx context.Context) (map[int64]storedRun, error) {
	loaded := make(map[int64]storedRun, len(c.picks))
	var missing []int64
	for _, p := range c.picks {
		prev, ok := c.cache.get(p.id)
		if ok && p.locked && prev.row == p.row && prev.run.Version == p.version && prev.spec != nil &&
			prev.run.Incarnation == c.incarnation.Load() {
			loaded[p.row] = prev
		} else {
			missing = append(missing, p.row)
		}
	}
	if len(missing) == 0 {
		return loaded, nil
	}
	rows, err := c.conn.Query(ctx, c.texts[loadText], missing)
	if err != nil {
		return nil, err
	}
	var row int64
	var id string
	var version, incarnation uint64
	var record, spec []byte
	_, err = pgx.ForEachRow(rows, []any{&row, &id, &version, &record, &spec, &incarnation}, func() error {
		run, err := store.Decode(record)
		if err != nil { // concerns only this run
			c.failures = append(c.failures, c.rotation.Failed(id, err))
			return nil
		}
		run.Incarnation = incarnation
		loaded[row] = storedRun{row: row, run: &run, spec: spec}
		return nil
	})
	return loaded, err
}

// durableText commits a transaction after the claim's, so that it waits until both are durable,
// when the locks of the claim are released. A crash in between loses the claim, and every claim
// that counted its slots, before any is acknowledged.
var durableText = sql(`SELECT ` + showWarnings + `, pg_catalog.pg_logical_emit_message(true, 'interlude', '')`)

// commit writes the commits and ends the transaction.
func (c *claimTx) commit(ctx context.Context) error {
	b := newBatch(3)
	if len(c.commits) > 0 {
		c.queueUpdates(b, c.commits)
	}
	b.Queue(commitText)
	flushed := len(c.commits) > 0 && c.unflushed
	if flushed {
		b.Queue(c.texts[durableText])
	}
	clearReplicationWarning(c.conn.PgConn())
	results := sendBatch(ctx, c.conn, b, argumentsSize(c.commits))
	var err error
	if len(c.commits) > 0 {
		err = readUpdated(results, c.commits)
	}
	if err == nil {
		_, err = results.Exec()
	}
	if err == nil && flushed {
		_, err = results.Exec()
	}
	if closing := results.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = acknowledgmentError(c.conn.PgConn())
	}
	if err != nil {
		return err
	}
	c.claimed = c.claimed[:0]
	for i, p := range c.commits {
		if p.written { // its row is locked: all are, unless an incarnation is old
			c.claimed = append(c.claimed, store.Claimed{Run: p.Run.Clone(), Spec: slices.Clone(c.specs[i])})
		}
	}
	c.finishWritten(c.commits)
	if len(c.claimed) == 0 && len(c.commits) > 0 {
		changed, err := c.loadIncarnation(ctx, c.conn)
		if err != nil || changed || c.commits[0].isOutdated(c.incarnation.Load()) {
			return cmp.Or(err, errOldIncarnation)
		}
	}
	return nil
}

// errOldIncarnation: nothing was written, because the events had an old incarnation.
var errOldIncarnation = fmt.Errorf("%w: the database was restored, or its server promoted", ErrSerialization)
