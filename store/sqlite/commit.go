package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/entry"
	"github.com/interlude-go/interlude/store/internal/refuse"
)

// Commit implements store.Writer. Work that does not need the file happens here, in the caller's
// goroutine, because every caller waits for the writer's.
func (s *Store) Commit(ctx context.Context, batch []store.Commit) []error {
	errs := make([]error, len(batch))
	entries := make([]*entry.Entry, len(batch))
	valid := false
	for i := range batch {
		if errs[i] = batch[i].Validate(); errs[i] != nil {
			continue
		}
		e := new(entry.Entry)
		if errs[i] = e.Encode(&batch[i]); errs[i] == nil {
			entries[i], valid = e, true
		}
	}
	if !valid {
		return errs
	}
	// The writer sets refusals. When ctx ends, write returns an error while the writer may still
	// set them: then they must not be read.
	refusals := make([]error, len(batch))
	err := s.write(ctx, len(batch), func(w *writer) ([]store.Hint, error) {
		hints := make([]store.Hint, 0, len(entries))
		for i, e := range entries {
			if e == nil {
				continue
			}
			refused, err := w.commit(e)
			if err != nil {
				return nil, err
			}
			if refusals[i] = refused; refused == nil {
				hints = append(hints, e.Hint())
				e.Release()
			}
		}
		return hints, nil
	})
	for i := range errs {
		switch {
		case errs[i] != nil:
		case err != nil:
			errs[i] = err
		default:
			errs[i] = refusals[i]
		}
	}
	return errs
}

// commit stores one entry, or returns why it is refused. Everything that may refuse it is checked
// before its first write, so that no savepoint is needed.
func (w *writer) commit(e *entry.Entry) (refused, _ error) {
	if e.Expect == 0 {
		return w.create(e)
	}
	prev, err := w.loadForUpdate(e.Run.ID)
	switch {
	case errors.Is(err, errNoRow):
		return refuse.NotFound(e.Run.ID), nil
	case errors.Is(err, store.ErrCorrupt): // concerns only this run
		return fmt.Errorf("run %s: %w", e.Run.ID, err), nil
	case err != nil:
		return nil, err
	}
	refused, err = refuse.Change(&e.Commit, prev.run, refuse.Facts{
		Registered: w.registered, Departed: w.departed,
		KeyUsed: func(key string) (bool, error) {
			if e.Run.Interactions == 1 { // the run has settled no other
				return false, nil
			}
			return w.exists(`SELECT 1 FROM settled WHERE run = ? AND key = ?`, prev.row, key)
		},
	})
	if refused != nil || err != nil {
		return refused, err
	}
	return nil, w.update(prev, e)
}

func (w *writer) loadForUpdate(id string) (storedRun, error) {
	if s, ok := w.cache.run(id); ok {
		return s, nil
	}
	r, err := w.one(`SELECT n, record, spec, first, tail FROM runs WHERE id = ?`, id)
	if err != nil {
		return storedRun{}, err
	}
	run := new(store.Run)
	err = store.DecodeInto(r.blob(1), run)
	return storedRun{row: r.int(0), run: run, spec: r.blob(2), tail: tail{uint64(r.int(3)), r.blob(4)}}, err
}

func (w *writer) registered(node string) (bool, error) {
	is, cached := w.cache.nodes[node]
	if cached {
		return is, nil
	}
	is, err := w.exists(`SELECT 1 FROM nodes WHERE id = ?`, node)
	if err != nil {
		return false, err
	}
	if w.cache.nodes == nil || len(w.cache.nodes) > maxCachedNodes {
		w.cache.nodes = make(map[string]bool)
	}
	w.cache.nodes[node] = is
	return is, nil
}

// departed returns the node's departure time; zero without a departure.
func (w *writer) departed(node string) (time.Time, error) {
	at, cached := w.cache.departed[node]
	if cached {
		return at, nil
	}
	r, err := w.one(`SELECT at FROM departed WHERE id = ?`, node)
	if err == nil {
		at = r.time(0)
	} else if !errors.Is(err, errNoRow) {
		return at, err
	}
	if w.cache.departed == nil || len(w.cache.departed) > maxCachedNodes {
		w.cache.departed = make(map[string]time.Time)
	}
	w.cache.departed[node] = at
	return at, nil
}

func (w *writer) create(e *entry.Entry) (refused, _ error) {
	r := &e.Run
	pools, err := w.pools()
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(pools, func(p slots.Pool) bool { return p.Name == r.Pool }) {
		exists, err := w.exists(`SELECT 1 FROM runs WHERE id = ?`, r.ID)
		if err == nil && exists {
			return refuse.Exists(r.ID), nil
		}
		return refuse.UnknownPool(r.Pool), err
	}
	if err := w.mark(e); err != nil {
		return nil, err
	}
	c := columnsOf(r)
	var inlineSpec driver.Value
	if len(e.Spec) <= maxInline {
		inlineSpec = e.Spec
	}
	t := tail{first: 1}
	if len(e.EventLines) < maxTail {
		t = t.with(e.EventLines)
	} else {
		t.first = r.Seq + 1
	}
	slot, err := w.slotOfNew(e)
	if err != nil {
		return nil, err
	}
	row, inserted, err := w.insert(
		`INSERT INTO runs (id, version, state, pool, engine, key, priority, created_at, queued_at, ready, delayed_until,
			slot, epoch, record, first, tail, spec)
		VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		r.ID, string(r.State), r.Pool, r.Engine, r.Key, int64(r.Priority), r.CreatedAt.UnixMicro(), c.queuedAt, c.ready,
		c.delayedUntil, slot, e.Record,
		int64(t.first), t.column(), inlineSpec)
	if err != nil {
		return nil, err
	}
	if inserted == 0 {
		return refuse.Exists(r.ID), nil
	}
	if _, err := w.note(row, e); err != nil {
		return nil, err
	}
	if inlineSpec == nil {
		if _, err := w.exec(`INSERT INTO specs (run, spec) VALUES (?, ?)`, row, e.Spec); err != nil {
			return nil, err
		}
		w.countRow(0)
	}
	if len(e.EventLines) >= maxTail {
		if err := w.insertLog(row, 1, r.Seq, e.EventLines); err != nil {
			return nil, err
		}
	}
	indexed, err := w.indexLabels(row, labelsOf(r))
	if err != nil {
		return nil, err
	}
	for range indexed {
		w.countRow(0)
	}
	w.countRow(len(e.Record) + len(t.lines) + len(e.Spec))
	return nil, w.finishCommit(storedRun{row: row, spec: e.Spec, tail: t}, e)
}

func (w *writer) update(prev storedRun, e *entry.Entry) error {
	if err := w.mark(e); err != nil {
		return err
	}
	t, err := w.appendEvents(prev.row, prev.tail, e)
	var noted bool
	if err == nil {
		noted, err = w.note(prev.row, e)
	}
	firstChanges := t.first != prev.tail.first
	if noted && firstChanges && err == nil { // the update fires feed_changed, which must find the commit noted
		err = w.insertNotedAlone()
	}
	if err != nil {
		return err
	}
	r := &e.Run
	// true for a report of a running turn: no index has to change
	sameColumns := r.State == prev.run.State && r.Epoch == prev.run.Epoch &&
		entry.ColumnsOf(r) == entry.ColumnsOf(prev.run)
	if engine := entry.EngineColumn(r); engine != entry.EngineColumn(prev.run) || w.unfilled.has(prev.row) {
		// seldom: see Run.Suspect
		if _, err := w.exec(`UPDATE OR ROLLBACK runs SET engine = ? WHERE n = ?`, engine, prev.row); err != nil {
			return err
		}
	}
	changed, err := w.updateRow(prev.row, e, t, sameColumns, noted && !firstChanges)
	if err != nil {
		return err
	}
	if changed != 1 { // cannot happen: the transaction holds the write lock since it read the run
		return fmt.Errorf("%w: run %s changed inside a transaction", ErrCorrupt, r.ID)
	}
	specBytes := len(prev.spec)
	if specBytes > maxInline { // it is in a separate row, which is not written
		specBytes = 0
	}
	tailBytes := len(t.lines)
	if sameColumns && len(e.Events) == 0 { // updateRow omits it
		tailBytes = 0
	}
	w.countRow(len(e.Record) + tailBytes + specBytes)
	return w.finishCommit(storedRun{row: prev.row, run: prev.run, spec: prev.spec, tail: t}, e)
}

// updateRow writes the row of a run, and returns the number of changed rows. sameColumns omits the
// columns that repeat the record, and without events also the tail and its first number; omitFirst
// omits the column first, so that no trigger fires (see makeTriggers).
func (w *writer) updateRow(row int64, e *entry.Entry, t tail, sameColumns, omitFirst bool) (changed int64, _ error) {
	const (
		changeOne = `UPDATE OR ROLLBACK runs SET version = ?, record = ?`
		changeRun = `UPDATE OR ROLLBACK runs SET version = ?, record = ?, tail = ?`
		changeAll = `UPDATE OR ROLLBACK runs SET version = ?, record = ?, tail = ?, state = ?, queued_at = ?, ready = ?,
			delayed_until = ?, slot = ?, owner = ?, epoch = ?, asked_at = ?, deadline = ?, finished_at = ?`
		first = `, first = ?`
		where = ` WHERE n = ? AND version = ?`
	)
	r := &e.Run
	version, number, expect := int64(r.Version), int64(t.first), int64(e.Expect)
	if sameColumns && len(e.Events) == 0 { // a step of a function, for example
		return w.exec(changeOne+where, version, e.Record, row, expect)
	}
	if sameColumns && omitFirst {
		return w.exec(changeRun+where, version, e.Record, t.column(), row, expect)
	}
	if sameColumns {
		return w.exec(changeRun+first+where, version, e.Record, t.column(), number, row, expect)
	}
	c := columnsOf(r)
	if omitFirst {
		return w.exec(changeAll+where, version, e.Record, t.column(), string(r.State), c.queuedAt, c.ready,
			c.delayedUntil, c.slot, c.owner, int64(r.Epoch), c.askedAt, c.deadline, c.finishedAt, row, expect)
	}
	return w.exec(changeAll+first+where, version, e.Record, t.column(), string(r.State), c.queuedAt, c.ready,
		c.delayedUntil, c.slot, c.owner, int64(r.Epoch), c.askedAt, c.deadline, c.finishedAt, number, row, expect)
}

func (w *writer) finishCommit(s storedRun, e *entry.Entry) error {
	w.written.Commits++
	for i := range e.Settled {
		_, err := w.exec(`INSERT INTO settled (run, id, key, record) VALUES (?, ?, ?, ?)`, s.row,
			int64(e.Settled[i].Question.ID), textColumn(e.Settled[i].Key), e.SettledRecords[i])
		if err != nil {
			return err
		}
		w.countRow(len(e.SettledRecords[i]))
		for part := range e.Settled[i].Question.Votes {
			_, err := w.exec(`INSERT INTO voted (run, key, id, part) VALUES (?, ?, ?, ?)`, s.row,
				e.Settled[i].Question.Votes[part].Key, int64(e.Settled[i].Question.ID), int64(part))
			if err != nil {
				return err
			}
			w.countRow(0)
		}
	}
	if u := e.Usage; u != nil {
		_, err := w.exec(`INSERT INTO usage (run, attempt, input, output, cost, worked) VALUES (?, ?, ?, ?, ?, ?)`,
			s.row,
			int64(e.Run.Attempt), u.InputTokens, u.OutputTokens, u.CostMicroUSD, u.Worked.Microseconds())
		if err != nil {
			return err
		}
		w.countRow(0)
	}
	for i := range e.Journal {
		j := &e.Journal[i]
		_, err := w.exec(`INSERT INTO journal (k, path, name, type, body) VALUES (?, ?, ?, ?, ?)`,
			logKey(s.row, uint64(e.FirstOfJournal()+i)), j.Path, j.Name, j.Type, j.Body)
		if err != nil {
			return err
		}
		w.countRow(j.Size())
	}
	if err := w.updateAsked(s.row, s.run, e); err != nil {
		return err
	}
	s.run = &e.Run
	w.cache.put(s, len(e.Record)+len(s.spec)+maxTail)
	e.Written()
	return nil
}

// columns are entry.Columns for the driver; nil is NULL.
type columns struct{ queuedAt, ready, delayedUntil, slot, owner, askedAt, deadline, finishedAt driver.Value }

func columnsOf(r *store.Run) columns {
	c := entry.ColumnsOf(r)
	return columns{
		queuedAt: timeColumn(c.QueuedAt), ready: flagColumn(c.Ready), delayedUntil: timeColumn(c.DelayedUntil),
		slot: flagColumn(c.Slot), owner: textColumn(c.Owner), askedAt: timeColumn(c.AskedAt),
		deadline: timeColumn(c.Deadline), finishedAt: timeColumn(c.FinishedAt),
	}
}

func textColumn(s string) driver.Value {
	if s == "" {
		return nil
	}
	return s
}

func flagColumn(b bool) driver.Value {
	if !b {
		return nil
	}
	return int64(1)
}

func timeColumn(t time.Time) driver.Value {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	if err := store.ValidateLimit(limit); err != nil {
		return 0, err
	}
	pruned, more := 0, false
	err := s.write(ctx, maxBatch, func(w *writer) (_ []store.Hint, err error) {
		pruned, err = w.prune(before, limit)
		if err == nil {
			more, err = w.deleteUnneeded()
		}
		return nil, err
	})
	if err != nil {
		return 0, err
	}
	if more {
		err = s.deleteUnneeded(ctx)
	}
	return pruned, err
}

// prune deletes up to limit runs, and returns their number.
func (w *writer) prune(before time.Time, limit int) (int, error) {
	n, err := w.feedState()
	if err != nil {
		return 0, err
	}
	query := `SELECT n FROM runs WHERE finished_at IS NOT NULL AND finished_at < ? AND deadline IS NULL
		ORDER BY finished_at, id LIMIT ? + 0`
	args := []driver.Value{before.UnixMicro(), int64(limit)}
	if n.needed {
		query = `SELECT n FROM runs WHERE finished_at IS NOT NULL AND finished_at < ? AND deadline IS NULL
			AND NOT ` + feedNeedsRun + `
			ORDER BY finished_at, id LIMIT ? + 0`
		args = []driver.Value{before.UnixMicro(), before.UnixMicro(), int64(limit)}
	}
	var rows []int64
	err = w.each(context.Background(), func(r row) error {
		rows = append(rows, r.int(0))
		return nil
	}, query, args...)
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		if err := w.deleteRun(row); err != nil {
			return 0, err
		}
	}
	if n.needed && len(rows) > 0 { // the pruning may have made a feed lost, which needs no more
		// commits
		err = w.resetFeedState()
	}
	return len(rows), err
}

func (w *writer) deleteRun(row int64) error {
	if err := w.deleteLabels(row); err != nil {
		return err
	}
	if _, err := w.exec(`DELETE FROM log WHERE k BETWEEN ? AND ?`, logKey(row, 0), logKey(row, maxSeq)); err != nil {
		return err
	}
	for _, text := range []string{`DELETE FROM settled WHERE run = ?`, `DELETE FROM specs WHERE run = ?`,
		`DELETE FROM runs WHERE n = ?`} {
		if _, err := w.exec(text, row); err != nil {
			return err
		}
	}
	return nil
}
