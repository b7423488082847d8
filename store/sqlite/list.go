package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/entry"
)

// Runs implements store.Reader, on separate connections: a long listing delays only listings.
func (s *Store) Runs(ctx context.Context, q store.Query) (store.Page, error) {
	q, err := q.Normal()
	if err != nil {
		return store.Page{}, err
	}
	found := &store.Found{Limit: q.Limit}
	rows := s.unfilled.rows() // before the snapshot, which has no more of them
	err = s.readOn(ctx, s.listers, func(c *conn) error {
		return c.snapshot(func() error {
			return c.list(ctx, q, rows, found)
		})
	})
	if err != nil {
		return store.Page{}, err
	}
	return found.NewPage(q)
}

// list finds the runs of a page. The database filters by columns. Labels are found by hash and
// checked here: a run with only the same hash is replaced by the next one.
func (c *conn) list(ctx context.Context, q store.Query, unindexed rowRange, page *store.Found) error {
	labels := hashLabels(q.Labels, q.ForkedFrom, q.Parent)
	rarest, having, err := c.rarest(unindexed.narrowing(q, labels))
	if err != nil || having == 0 {
		return err
	}
	order := orderOf(q, "created_at", "id")
	for want, full := q.Limit+1, false; ; {
		f, err := filterOf(q, "created_at", "id", 0)
		if err != nil {
			return err
		}
		found := 0
		var last store.Cursor
		add := func(r store.Run, size int) bool {
			found++
			last = store.Cursor{At: r.CreatedAt, ID: r.ID}
			full = (len(labels) == 0 || q.Matches(&r)) && !page.Add(r, size)
			return !full
		}
		if having <= fewRuns {
			f.hasLabels(labels, unindexed, func(hash int64) bool { return hash == rarest })
			err = c.listByLabel(ctx, add, rarest, f, order, int64(want))
		} else {
			f.hasLabels(labels, unindexed, func(int64) bool { return false })
			err = c.eachRun(ctx, add, "SELECT "+view+from(q)+" WHERE "+f.text()+order+limited,
				append(f.args, int64(want))...)
		}
		if err != nil || full || found < want {
			return err
		}
		if q, err = last.After(q); err != nil {
			return err
		}
	}
}

const limited = " LIMIT ? + 0"

func orderOf(q store.Query, at, id string) string {
	if q.Newest {
		return " ORDER BY " + at + " DESC, " + id + " DESC"
	}
	return " ORDER BY " + at + ", " + id
}

// from names the table, and the index of held runs: a walk in the listing's order would pass over
// all others.
func from(q store.Query) string {
	if q.Held {
		return " FROM runs INDEXED BY runs_delayed"
	}
	return " FROM runs"
}

type filter struct {
	where []string
	args  []driver.Value
}

func (f *filter) and(clause string, args ...driver.Value) {
	f.where, f.args = append(f.where, clause), append(f.args, args...)
}

func (f *filter) text() string { return strings.Join(f.where, " AND ") }

// filterOf returns a query's conditions on columns. The columns at and id order the listing; shift
// is added to the times in the former.
func filterOf(q store.Query, at, id string, shift int64) (f filter, _ error) {
	f.and(at + " IS NOT NULL")
	if q.After != "" {
		c, err := store.ReadCursor(q.After)
		if err != nil {
			return f, err
		}
		compare := ">"
		if q.Newest {
			compare = "<"
		}
		f.and("("+at+", "+id+") "+compare+" (?, ?)", c.At.UnixMicro()+shift, c.ID)
	}
	if q.Pool != "" {
		f.and("pool = ?", q.Pool)
	}
	if q.Key != "" {
		f.and("key = ?", q.Key)
	}
	if q.Held {
		f.and("delayed_until IS NOT NULL AND delayed_until > ?", entry.Held)
	}
	if len(q.States) > 0 {
		states := make([]driver.Value, len(q.States))
		for i, state := range q.States {
			states[i] = string(state)
		}
		f.and("state IN (?"+strings.Repeat(", ?", len(states)-1)+")", states...)
	}
	return f, nil
}

// Labels are indexed by a hash of name and value, so that the index is small. A hash is a hint: a
// run found by it is checked against its record.

// hashLabel is the label's number in the index. It must never change, since files hold it.
func hashLabel(name, value string) int64 {
	body := binary.AppendUvarint(nil, uint64(len(name)))
	sum := sha256.Sum256(append(append(body, name...), value...))
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// hashLabels returns the hashes of a run's labels, distinct and sorted. A fork has an extra one for
// its source, a child for its parent, under names that no label has.
func hashLabels(labels map[string]string, forkedFrom, parent string) []int64 {
	hashes := make([]int64, 0, len(labels)+2)
	if parent != "" {
		hashes = append(hashes, hashLabel("\x00parent", parent))
	}
	if forkedFrom != "" {
		hashes = append(hashes, hashLabel("", forkedFrom))
	}
	for name, value := range labels {
		hashes = append(hashes, hashLabel(name, value))
	}
	slices.Sort(hashes)
	return slices.Compact(hashes)
}

func labelsOf(r *store.Run) []int64 {
	forkedFrom := ""
	if r.ForkedFrom != nil {
		forkedFrom = r.ForkedFrom.RunID
	}
	return hashLabels(r.Labels, forkedFrom, r.Parent())
}

func (c *conn) indexLabels(n int64, hashes []int64) (rows int, _ error) {
	for _, hash := range hashes {
		if _, err := c.exec(`INSERT OR IGNORE INTO labels (label, run) VALUES (?, ?)`, hash, n); err != nil {
			return 0, err
		}
	}
	return len(hashes), nil
}

func (c *conn) deleteLabels(n int64) error {
	r, err := c.one(`SELECT record FROM runs WHERE n = ?`, n)
	if err != nil {
		return err
	}
	run, err := store.Decode(r.blob(0))
	if err != nil { // its labels are unknown; leftovers in the index are harmless, since no listing finds the run
		return nil //nolint:nilerr // a damaged run can be pruned like any other
	}
	for _, hash := range labelsOf(&run) {
		if _, err := c.exec(`DELETE FROM labels WHERE label = ? AND run = ?`, hash, n); err != nil {
			return err
		}
	}
	return nil
}

func fillLabels(c *conn) error {
	return fill(c, `SELECT n, record FROM runs WHERE n > ? ORDER BY n LIMIT ? + 0`,
		func(r store.Run) []int64 { return labelsOf(&r) },
		func(n int64, hashes []int64) error {
			_, err := c.indexLabels(n, hashes)
			return err
		})
}

// fewRuns is the number of runs that are loaded one by one and sorted. If a query's rarest label
// has more, a scan in order finds enough soon.
const fewRuns = 1000

// rarest returns the label with the fewest runs, and their number: at most fewRuns + 1, also
// without labels.
func (c *conn) rarest(labels []int64) (label int64, runs int, _ error) {
	runs = fewRuns + 1
	for i, hash := range labels {
		r, err := c.one(`SELECT count(*) FROM (SELECT 1 FROM labels WHERE label = ? LIMIT ? + 0)`, hash, int64(runs))
		if err != nil {
			return 0, 0, err
		}
		if n := int(r.int(0)); i == 0 || n < runs {
			label, runs = hash, n
		}
		if runs == 0 {
			break
		}
	}
	return label, runs, nil
}

// hasLabels adds the condition that a run has the labels, except those selected by except, or that
// its labels are not indexed yet.
func (f *filter) hasLabels(labels []int64, unindexed rowRange, except func(int64) bool) {
	for _, hash := range labels {
		switch has := "EXISTS (SELECT 1 FROM labels WHERE label = ? AND run = runs.n)"; {
		case except(hash):
		case unindexed.last > 0:
			f.and("("+has+" OR runs.n BETWEEN ? AND ?)", hash, unindexed.next, unindexed.last)
		default:
			f.and(has, hash)
		}
	}
}

// listByLabel lists runs by a rare label, until add returns false.
func (c *conn) listByLabel(ctx context.Context, add func(store.Run, int) bool, label int64, f filter, order string,
	count int64) error {
	var rows []int64 // the numbers are sorted without their records, which are large
	args := append(append([]driver.Value{label}, f.args...), count)
	err := c.each(ctx, func(r row) error {
		rows = append(rows, r.int(0))
		return nil
	}, "SELECT runs.n FROM labels AS l CROSS JOIN runs ON runs.n = l.run WHERE l.label = ? AND "+f.text()+order+
		limited, args...)
	more := true
	for i := 0; err == nil && more && i < len(rows); i++ {
		err = c.eachRun(ctx, func(r store.Run, size int) bool {
			more = add(r, size)
			return more
		}, `SELECT `+view+` FROM runs WHERE n = ?`, rows[i])
	}
	return err
}
