package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/entry"
)

// The upgrade of a large file of an earlier version. Three parts depend on the number of its runs and
// would lock every other process out for a minute per million: the labels' index, the runs' engines, and
// the indexes of queued runs, for which SQLite reads the whole table. So its migration leaves the
// labels and engines of the runs that it finds to batches, which the open stores write while they
// serve, and takes the indexes from an empty table. Until the last batch:
//
//   - the table filling has the numbers of the runs that the batches have not reached;
//   - fillingLevel makes earlier releases refuse the file, since they would miss these runs;
//   - listings by a label check these runs one by one;
//   - each update of an unfilled run writes its engine, too.

// onlineSize is the size in bytes from which a file is upgraded in batches, and fillRows and
// fillBytes bound a batch: 20 ms or so.
const (
	onlineSize = 32 << 20
	fillRows   = 200
	fillBytes  = 1 << 20
)

// fillingLevel is added to the level in user_version (see levelSize) until the last batch.
const fillingLevel = 8

// upgrades are settings of tests.
type upgrades struct {
	size   int64 // instead of onlineSize
	rows   int64 // instead of fillRows
	before func()
}

// unfilled is the range of runs that the batches may not have reached yet, as far as this process
// knows. Runs below next may be filled; last is 0 when all are.
type unfilled struct {
	next, last atomic.Int64
	ended      chan struct{} // closed when this process writes no more batches; nil if it writes none
}

func (u *unfilled) has(row int64) bool { return row <= u.last.Load() }

// rowRange is the numbers of runs from next to last; none if last is 0.
type rowRange struct{ next, last int64 }

func (u *unfilled) rows() rowRange {
	last := u.last.Load()
	return rowRange{u.next.Load(), last}
}

// narrowing returns the labels by which a listing may find its runs: the batches index names and
// values, but no run older than that index is a fork or a child.
func (r rowRange) narrowing(q store.Query, labels []int64) []int64 {
	if r.last > 0 {
		return hashLabels(nil, q.ForkedFrom, q.Parent)
	}
	return labels
}

const isFilling = `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'filling'`

// load reads the range. The caller need not be in a transaction: the range only shrinks.
func (u *unfilled) load(c *conn) error {
	filling, err := c.exists(isFilling)
	if err != nil || !filling {
		u.last.Store(0)
		return err
	}
	r, err := c.one(`SELECT next, last FROM filling`)
	if err == nil {
		u.next.Store(r.int(0))
		u.last.Store(r.int(1))
	}
	return err
}

// isLarge reports whether the file is upgraded in batches.
func (c *conn) isLarge(from int64) (bool, error) {
	r, err := c.one(`SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`)
	return err == nil && r.int(0) >= from, err
}

// applyOnline is apply for a large file. It leaves the fills to fillBatch.
func applyOnline(c *conn, version int) error {
	var err error
	switch name := migrations[version]; {
	case name == enginesMigration:
		err = adoptEngines(c)
	case fills[name] != nil:
		err = c.runFile(name)
	default:
		return apply(c, version)
	}
	if err == nil {
		err = c.run(`CREATE TABLE IF NOT EXISTS filling (next INTEGER NOT NULL, last INTEGER NOT NULL);
			INSERT INTO filling (next, last) SELECT 1, coalesce(max(n), 0) FROM runs
				WHERE NOT EXISTS (SELECT 1 FROM filling)`)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", migrations[version], err)
	}
	return nil
}

// adoptEngines migrates to 0005_engines.sql without reading all runs. It makes the indexes on an
// empty table, assigns them to the table of runs in SQLite's schema, and only then adds the queued
// runs: an index to which no row belongs is complete. The table's other rows are not touched.
func adoptEngines(c *conn) error {
	type queued struct {
		n            int64
		engine       string
		ready, until any
	}
	var runs []queued
	err := c.each(context.Background(), func(r row) error {
		q := queued{n: r.int(0), ready: r[2], until: r[3]}
		if run, err := store.Decode(r.blob(1)); err == nil { // a claim of a damaged run reports it
			q.engine = entry.EngineColumn(&run)
		}
		runs = append(runs, q)
		return nil
	}, `SELECT n, record, ready, delayed_until FROM runs WHERE n IN (
		SELECT n FROM runs INDEXED BY runs_ready WHERE ready = 1 UNION
		SELECT n FROM runs INDEXED BY runs_delayed WHERE delayed_until IS NOT NULL)`)
	for i := 0; err == nil && i < len(runs); i++ {
		_, err = c.exec(`UPDATE runs SET ready = NULL, delayed_until = NULL WHERE n = ?`, runs[i].n)
	}
	if err != nil {
		return err
	}
	c.closeStatements()
	clear(c.stmts) // no open statement may keep the indexes from being dropped
	if err := c.run(`DROP INDEX runs_ready;
		DROP INDEX runs_delayed;
		ALTER TABLE runs ADD COLUMN engine TEXT NOT NULL DEFAULT '';
		ALTER TABLE nodes ADD COLUMN engines TEXT;
		CREATE TABLE none AS SELECT * FROM runs WHERE false;
		CREATE INDEX none_ready   ON none (` + readyColumns + `) WHERE ready = 1;
		CREATE INDEX none_delayed ON none (` + delayedColumns + `) WHERE delayed_until IS NOT NULL;
		PRAGMA writable_schema = ON;
		UPDATE sqlite_schema SET name = 'runs_ready', tbl_name = 'runs',
			sql = 'CREATE INDEX runs_ready   ON runs (` + readyColumns + `) WHERE ready = 1' WHERE name = 'none_ready';
		UPDATE sqlite_schema SET name = 'runs_delayed', tbl_name = 'runs',
			sql = 'CREATE INDEX runs_delayed ON runs (` + delayedColumns + `) WHERE delayed_until IS NOT NULL'
			WHERE name = 'none_delayed';
		PRAGMA writable_schema = RESET;
		DROP TABLE none`); err != nil {
		return err
	}
	for _, q := range runs {
		if _, err := c.exec(`UPDATE runs SET engine = ?, ready = ?, delayed_until = ? WHERE n = ?`, q.engine, q.ready,
			q.until, q.n); err != nil {
			return err
		}
	}
	return nil
}

// The columns of the indexes of queued runs, as 0005_engines.sql has them.
const (
	enginesMigration = "migrations/0005_engines.sql"
	readyColumns     = "pool, engine, priority DESC, key, queued_at, id"
	delayedColumns   = "delayed_until, engine"
)

// fillInBatches writes batches until the file is filled or the store is closed. It pauses for as long as a
// batch takes, so that other processes get the write lock.
func (s *Store) fillInBatches(o upgrades) {
	defer close(s.unfilled.ended)
	for s.unfilled.last.Load() > 0 {
		if o.before != nil {
			o.before()
		}
		began := time.Now()
		err := s.write(context.Background(), 1, func(w *writer) ([]store.Hint, error) {
			return nil, w.fillBatch(o.rows)
		})
		pause := max(time.Since(began), time.Millisecond)
		if err == nil {
			err = s.inspectWriter(func(w *writer) error { return s.unfilled.load(w.conn) })
		}
		if err != nil { // a full disk, for example; stored data is kept
			pause = time.Second
		}
		select {
		case <-s.closed:
			return
		case <-time.After(pause):
		}
	}
}

var errBatchFull = errors.New("sqlite: the batch is full")

// fillBatch indexes the labels of the next runs, and writes the engines of the unfinished ones. The
// last batch lets earlier releases open the file.
func (w *writer) fillBatch(rows int64) error {
	var u unfilled
	if err := u.load(w.conn); err != nil || u.last.Load() == 0 {
		return err
	}
	type pending struct {
		n      int64
		labels []int64
		engine string
	}
	var runs []pending
	next, bytes := u.next.Load(), 0
	err := w.each(context.Background(), func(r row) error {
		next = r.int(0) + 1
		if run, err := store.Decode(r.blob(1)); err == nil {
			p := pending{n: r.int(0), labels: labelsOf(&run)}
			if r.int(2) == 1 {
				p.engine = entry.EngineColumn(&run)
			}
			runs = append(runs, p)
		}
		if bytes += len(r.blob(1)); bytes > fillBytes {
			return errBatchFull
		}
		return nil
	}, `SELECT n, record, finished_at IS NULL AND engine = '' FROM runs WHERE n BETWEEN ? AND ?
		ORDER BY n LIMIT ? + 0`, next, u.last.Load(), rows)
	if err != nil && !errors.Is(err, errBatchFull) {
		return err
	}
	if next == u.next.Load() { // no run is left
		next = u.last.Load() + 1
	}
	for _, p := range runs {
		if _, err := w.indexLabels(p.n, p.labels); err != nil {
			return err
		}
		if p.engine == "" {
			continue
		}
		if _, err := w.exec(`UPDATE runs SET engine = ? WHERE n = ?`, p.engine, p.n); err != nil {
			return err
		}
	}
	if next <= u.last.Load() {
		_, err := w.exec(`UPDATE filling SET next = ?`, next)
		return err
	}
	return w.endFilling()
}

func (w *writer) endFilling() error {
	r, err := w.one("PRAGMA user_version")
	if err != nil {
		return err
	}
	level, version := r.int(0)/levelSize, int(r.int(0)%levelSize)
	if err := w.conn.run("DROP TABLE filling"); err != nil {
		return err
	}
	return w.setVersion(level&^fillingLevel, version)
}
