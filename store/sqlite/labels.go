package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"slices"

	"github.com/interlude-go/interlude/store"
)

// The labels of a run are indexed by a hash of name and value, so that the index is small however
// long they are. A hash is a hint: a run that is found by it is checked against its record.

// hashLabel is the label's number in the index, for ever: files hold it.
func hashLabel(name, value string) int64 {
	body := binary.AppendUvarint(nil, uint64(len(name)))
	sum := sha256.Sum256(append(append(body, name...), value...))
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// hashLabels are the numbers of labels, each once, in order.
func hashLabels(labels map[string]string) []int64 {
	hashes := make([]int64, 0, len(labels))
	for name, value := range labels {
		hashes = append(hashes, hashLabel(name, value))
	}
	slices.Sort(hashes)
	return slices.Compact(hashes)
}

// indexLabels adds a new run to the index.
func (c *conn) indexLabels(n int64, labels map[string]string) (rows int, _ error) {
	hashes := hashLabels(labels)
	for _, hash := range hashes {
		if _, err := c.exec(`INSERT OR IGNORE INTO labels (label, run) VALUES (?, ?)`, hash, n); err != nil {
			return 0, err
		}
	}
	return len(hashes), nil
}

// dropLabels takes a run out of the index.
func (c *conn) dropLabels(n int64) error {
	r, err := c.one(`SELECT record FROM runs WHERE n = ?`, n)
	if err != nil {
		return err
	}
	run, err := store.Decode(r.blob(0))
	if err != nil { // its labels cannot be known: what is left of it in the index is found by no listing
		return nil //nolint:nilerr // a damaged run can be pruned like any other
	}
	for _, hash := range hashLabels(run.Labels) {
		if _, err := c.exec(`DELETE FROM labels WHERE label = ? AND run = ?`, hash, n); err != nil {
			return err
		}
	}
	return nil
}

// fillLabels makes the index of the runs that a file of an earlier version holds.
func fillLabels(c *conn) error {
	return fill(c, `SELECT n, record FROM runs WHERE n > ? ORDER BY n LIMIT ? + 0`,
		func(r store.Run) map[string]string { return r.Labels },
		func(n int64, labels map[string]string) error {
			_, err := c.indexLabels(n, labels)
			return err
		})
}

// fewRuns is how many runs are looked up one by one and sorted: when the rarest label of a query
// has more, they are come upon soon enough on the way through the runs in their order.
const fewRuns = 1000

// rarest returns the label that the fewest runs have, as far as fewRuns, and how many have it.
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

// having adds the condition that a run has the labels.
func (f *filter) having(labels []int64, but func(int64) bool) {
	for _, hash := range labels {
		if !but(hash) {
			f.and("EXISTS (SELECT 1 FROM labels WHERE label = ? AND run = runs.n)", hash)
		}
	}
}

// byLabel are the records of a listing of runs that have the labels, one of which few have.
func (c *conn) byLabel(ctx context.Context, label int64, f filter, order, limit string, count int64) (runs []store.Run,
	_ error) {
	var ns []int64 // sorted by themselves: their records are large
	args := append(append([]driver.Value{label}, f.args...), count)
	err := c.each(ctx, func(r row) error {
		ns = append(ns, r.int(0))
		return nil
	}, "SELECT runs.n FROM labels AS l CROSS JOIN runs ON runs.n = l.run WHERE l.label = ? AND "+f.text()+order+limit,
		args...)
	if err != nil {
		return nil, err
	}
	for _, n := range ns {
		some, err := c.records(ctx, `SELECT record FROM runs WHERE n = ?`, n)
		if err != nil {
			return nil, err
		}
		runs = append(runs, some...)
	}
	return runs, nil
}
