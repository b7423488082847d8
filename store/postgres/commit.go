package postgres

import (
	"context"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/entry"
	"github.com/interlude-go/interlude/store/internal/groupcommit"
)

// maxBatch bounds the commits per transaction. The commits of one call of Commit stay together,
// whatever their number.
const maxBatch = 256

type commitBatch struct {
	commits []*pendingCommit
	errs    []error      // by commit; used only by the flush until the job is finished
	left    atomic.Int64 // commits that are not finished
	job     *groupcommit.Job[*commitBatch]
}

type pendingCommit struct {
	entry.Entry

	batch    *commitBatch   // nil for a commit of a claim, or of a host's transaction
	index    int            // in the batch
	row      int64          // the run's row; 0 while unknown
	parker   string         // the node that parked the run; set with verified
	verified bool           // the commit passed all checks, and row is set
	written  bool           // by the last transaction sent
	prev     *pendingCommit // the commit of the same flush on which this one is based
	depth    int            // how many commits of the flush precede it
}

// newPending makes all checks that do not need the previous record, and encodes the commit.
func newPending(c *store.Commit) (*pendingCommit, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return encode(c)
}

func encode(c *store.Commit) (*pendingCommit, error) {
	p := &pendingCommit{}
	if err := p.Encode(c); err != nil {
		return nil, err
	}
	if p.Fence != nil && !storable(p.Fence.Node) { // no node has this id, or an empty one
		p.Fence.Node = ""
	}
	return p, nil
}

// storable reports whether PostgreSQL can store the text.
func storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// isOutdated reports whether the change was decided on a record that was read in another incarnation.
// The stored record may have the same version and other content, so the store refuses the change.
func (p *pendingCommit) isOutdated(incarnation uint64) bool { return p.Run.Incarnation != incarnation }

func (p *pendingCommit) finish(err error) {
	if p.batch == nil {
		return
	}
	p.batch.errs[p.index] = err
	if p.batch.left.Add(-1) == 0 {
		p.batch.job.Finish(nil)
	}
}

func (p *pendingCommit) rows() (n int) {
	n = 1
	if p.Expect == 0 {
		n++
	}
	if len(p.Events) > 0 {
		n++
	}
	return n + len(p.Settled) + len(p.Journal)
}

func (p *pendingCommit) size() int {
	n := len(p.Record) + len(p.EventLines) + len(p.Spec)
	for _, record := range p.SettledRecords {
		n += len(record)
	}
	for i := range p.Journal {
		n += p.Journal[i].Size()
	}
	return n
}

// argumentsSize is about the size of the commits' arguments in a message.
func argumentsSize(commits []*pendingCommit) int {
	const columns = 500 // without what size counts
	n := columns
	for _, p := range commits {
		n += p.size() + columns
	}
	return n
}

// Commit implements store.Writer. Commits that arrive during a transaction share the next one.
func (s *Store) Commit(ctx context.Context, batch []store.Commit) []error {
	errs := make([]error, len(batch))
	b := &commitBatch{commits: make([]*pendingCommit, 0, len(batch))}
	for i := range batch {
		p, err := newPending(&batch[i])
		if errs[i] = err; err == nil {
			p.batch, p.index = b, len(b.commits)
			s.verifyFromCache(p)
			b.commits = append(b.commits, p)
		}
	}
	if len(b.commits) == 0 {
		return errs
	}
	b.errs = make([]error, len(b.commits))
	b.left.Store(int64(len(b.commits)))
	b.job = groupcommit.NewJob(b, len(b.commits))
	err := s.commits.Submit(ctx, b.job)
	next := 0
	for i := range errs {
		if errs[i] != nil {
			continue
		}
		if errs[i] = err; err == nil {
			errs[i] = b.errs[next]
		}
		next++
	}
	return errs
}

// Counters implements store.Meter. Rows count runs, states, events, settled and usage; bytes count
// records, events, specs and settled interactions.
func (s *Store) Counters() store.Counters { return s.counters.Load() }

// pruneText skips runs that another prune deletes, and runs that a feed needs.
var pruneText = sql(`WITH old AS MATERIALIZED (
		SELECT n FROM interlude.states s WHERE finished_at IS NOT NULL AND finished_at < $1::bigint
			AND deadline IS NULL AND NOT EXISTS (SELECT FROM interlude.feed f JOIN interlude.feeds c
				ON (f.place, f.run, f.last) > (c.place, c.run, c.last)
				WHERE f.run = s.n AND NOT c.lost AND s.finished_at >= $1::bigint - c.max_lag)
			ORDER BY finished_at, id LIMIT $2::bigint FOR UPDATE SKIP LOCKED
	), lost AS (
		UPDATE interlude.feeds c SET lost = true WHERE NOT lost AND EXISTS (SELECT FROM interlude.feed f
			WHERE f.run = ANY (ARRAY (SELECT n FROM old)) AND (f.place, f.run, f.last) > (c.place, c.run, c.last))
	), feed AS (
		DELETE FROM interlude.feed WHERE run = ANY (ARRAY (SELECT n FROM old))
	), events AS (
		DELETE FROM interlude.events WHERE run = ANY (ARRAY (SELECT n FROM old))
	), settled AS (
		DELETE FROM interlude.settled WHERE run = ANY (ARRAY (SELECT n FROM old))
	), voted AS (
		DELETE FROM interlude.voted WHERE run = ANY (ARRAY (SELECT n FROM old))
	), usage AS (
		DELETE FROM interlude.usage WHERE run = ANY (ARRAY (SELECT n FROM old))
	), journal AS (
		DELETE FROM interlude.journal WHERE run = ANY (ARRAY (SELECT n FROM old))
	), runs AS (
		DELETE FROM interlude.runs WHERE n = ANY (ARRAY (SELECT n FROM old))
	)
	DELETE FROM interlude.states WHERE n = ANY (ARRAY (SELECT n FROM old))`)

const pruneSize = 500

// Prune implements store.Writer, in transactions of pruneSize runs. Separate ones delete the
// leftovers of lost feeds.
func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	if err := store.ValidateLimit(limit); err != nil {
		return 0, err
	}
	pruned := 0
	for full := true; full && pruned < limit; {
		part := min(limit-pruned, pruneSize)
		n, err := s.change(ctx, pruneText, before.UnixMicro(), part)
		pruned += int(n)
		if err != nil {
			return pruned, err
		}
		full = int(n) == part
	}
	return pruned, s.tidyLostFeeds(ctx)
}
