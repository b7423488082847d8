package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// Commit implements store.Writer.
func (s *Store) Commit(ctx context.Context, batch []store.Commit) []error {
	errs := make([]error, len(batch)) // the writer's until the job is done
	if len(batch) == 0 {
		return errs
	}
	err := s.write(ctx, len(batch), func(w *writer) ([]store.Hint, error) {
		hints := make([]store.Hint, 0, len(batch))
		for i := range batch {
			refused, err := w.commit(&batch[i])
			if err != nil {
				return nil, err
			}
			if errs[i] = refused; refused == nil {
				hints = append(hints, hint(&batch[i].Run))
			}
		}
		return hints, nil
	})
	if err == nil {
		return errs
	}
	failed := make([]error, len(batch))
	for i := range failed {
		failed[i] = err
	}
	return failed
}

func hint(r *store.Run) store.Hint { return store.Hint{RunID: r.ID, State: r.State, Seq: r.Seq} }

// commit stores one entry, or says why it is refused. All that may refuse it comes before its first write.
func (w *writer) commit(c *store.Commit) (refused, _ error) {
	if err := c.CheckSelf(); err != nil {
		return err, nil
	}
	row, err := encode(c)
	if err != nil {
		return err, nil
	}
	if c.Expect == 0 {
		return w.create(c, row)
	}
	n, prev, err := w.previous(c.Run.ID)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w: run %s", store.ErrNotFound, c.Run.ID), nil
	}
	if errors.Is(err, store.ErrCorrupt) { // a fault of this run alone
		return fmt.Errorf("run %s: %w", c.Run.ID, err), nil
	}
	if err != nil {
		return nil, err
	}
	if refused, err := w.fenced(c, &prev); refused != nil || err != nil {
		return refused, err
	}
	if prev.Version != c.Expect {
		return fmt.Errorf("%w: run %s is at version %d, not %d", store.ErrConflict, c.Run.ID, prev.Version, c.Expect), nil
	}
	if err := c.Check(&prev, false); err != nil {
		return err, nil
	}
	if c.Settled != nil && c.Settled.Key != "" {
		var one int
		err := w.row(`SELECT 1 FROM settled WHERE run = ? AND key = ?`, []any{n, c.Settled.Key}, &one)
		if err == nil {
			return fmt.Errorf("%w: run %s: the idempotency key is taken", store.ErrInvalid, c.Run.ID), nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
	}
	return nil, w.update(n, c, row)
}

// encoded is what of a commit is stored as JSON.
type encoded struct{ record, settled []byte }

// encode comes before the first write, since what cannot be encoded is refused.
func encode(c *store.Commit) (e encoded, err error) {
	if e.record, err = store.Encode(c.Run); err != nil || c.Settled == nil {
		return e, err
	}
	if e.settled, err = json.Marshal(c.Settled); err != nil {
		return e, fmt.Errorf("%w: run %s: settled interaction: %w", store.ErrInvalid, c.Run.ID, err)
	}
	return e, nil
}

// previous is the run as it is stored.
func (w *writer) previous(id string) (n int64, prev store.Run, _ error) {
	var record []byte
	if err := w.row(`SELECT n, record FROM runs WHERE id = ?`, []any{id}, &n, &record); err != nil {
		return 0, store.Run{}, err
	}
	prev, err := store.Decode(record)
	return n, prev, err
}

// fenced refuses a worker that is not, or not any more, the run's.
func (w *writer) fenced(c *store.Commit, prev *store.Run) (refused, _ error) {
	f := c.Fence
	if f == nil {
		return nil, nil
	}
	stale := fmt.Errorf("%w: run %s", store.ErrStaleEpoch, c.Run.ID)
	if prev.Owner != f.Node || prev.Epoch != f.Epoch {
		return stale, nil
	}
	registered, err := w.registered(f.Node)
	if err != nil || registered {
		return nil, err
	}
	return stale, nil
}

func (w *writer) registered(node string) (bool, error) {
	var one int
	err := w.row(`SELECT 1 FROM nodes WHERE id = ?`, []any{node}, &one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// create inserts a new run.
func (w *writer) create(c *store.Commit, row encoded) (refused, _ error) {
	r := &c.Run
	var one int
	switch err := w.row(`SELECT 1 FROM pools WHERE name = ?`, []any{r.Pool}, &one); {
	case errors.Is(err, sql.ErrNoRows):
		err := w.row(`SELECT 1 FROM runs WHERE id = ?`, []any{r.ID}, &one)
		if err == nil {
			return fmt.Errorf("%w: run %s", store.ErrExists, r.ID), nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
		return fmt.Errorf("%w: %s", store.ErrUnknownPool, r.Pool), nil
	case err != nil:
		return nil, err
	}
	h := hotColumns(r)
	var n int64
	err := w.row(`INSERT INTO runs (id, version, state, pool, key, priority, created_at, queued_at, ready, delayed_until, epoch, record)
		VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?) ON CONFLICT (id) DO NOTHING RETURNING n`,
		[]any{r.ID, string(r.State), r.Pool, r.Key, r.Priority, r.CreatedAt.UnixMicro(), h.queuedAt, h.ready, h.delayedUntil, row.record}, &n)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w: run %s", store.ErrExists, r.ID), nil
	}
	if err != nil {
		return nil, err
	}
	if err := w.exec(`INSERT INTO specs (run, spec) VALUES (?, ?)`, n, c.Spec); err != nil {
		return nil, err
	}
	return nil, w.belongings(n, c, row.settled)
}

// update writes a checked commit of an existing run.
func (w *writer) update(n int64, c *store.Commit, row encoded) error {
	r := &c.Run
	h := hotColumns(r)
	changed, err := w.change(`UPDATE runs SET version = ?, state = ?, queued_at = ?, ready = ?, delayed_until = ?, slot = ?, owner = ?, epoch = ?,
		asked_at = ?, deadline = ?, finished_at = ?, record = ? WHERE n = ? AND version = ?`,
		int64(r.Version), string(r.State), h.queuedAt, h.ready, h.delayedUntil, h.slot, h.owner, int64(r.Epoch),
		h.askedAt, h.deadline, h.finishedAt, row.record, n, int64(c.Expect))
	if err != nil {
		return err
	}
	if changed != 1 { // cannot be: the transaction holds the file's write lock since it looked
		return fmt.Errorf("%w: run %s changed inside a transaction", ErrCorrupt, r.ID)
	}
	return w.belongings(n, c, row.settled)
}

// belongings writes the events and the settled interaction.
func (w *writer) belongings(n int64, c *store.Commit, settled []byte) error {
	if len(c.Events) > 0 {
		bodies := make([][]byte, len(c.Events))
		for i, e := range c.Events {
			bodies[i] = e.Body
		}
		err := w.exec(`INSERT INTO events (run, last, first, bodies) VALUES (?, ?, ?, ?)`,
			n, int64(c.Events[len(c.Events)-1].Seq), int64(c.Events[0].Seq), bytes.Join(bodies, []byte{'\n'}))
		if err != nil {
			return err
		}
	}
	if c.Settled == nil {
		return nil
	}
	return w.exec(`INSERT INTO settled (run, id, key, record) VALUES (?, ?, ?, ?)`, n, c.Settled.Question.ID, text(c.Settled.Key), settled)
}

// hot are the columns that stand for what the record says; nil is NULL, and in no partial index.
type hot struct{ queuedAt, ready, delayedUntil, slot, owner, askedAt, deadline, finishedAt any }

func hotColumns(r *store.Run) hot {
	h := hot{owner: text(r.Owner), deadline: micros(r.Deadline), finishedAt: micros(r.FinishedAt)}
	if r.Slot {
		h.slot = 1
	}
	if r.State == fsm.StateQueued {
		h.queuedAt = micros(r.QueuedAt)
		switch {
		case r.Slot: // claimed by its owner alone
		case r.NotBefore.After(r.UpdatedAt):
			h.delayedUntil = micros(r.NotBefore)
		default:
			h.ready = 1
		}
	}
	if r.Pending != nil {
		h.askedAt = micros(r.Pending.AskedAt)
	}
	return h
}

func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// Prune implements store.Writer.
func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	if limit < 1 {
		return 0, fmt.Errorf("%w: limit is %d, want at least 1", store.ErrInvalid, limit)
	}
	var pruned int64
	err := s.write(ctx, flushSize, func(w *writer) ([]store.Hint, error) {
		var old []int64
		err := w.rows(`SELECT n FROM runs WHERE finished_at IS NOT NULL AND finished_at < ? ORDER BY finished_at, id LIMIT ?`,
			[]any{before.UnixMicro(), limit}, func(rows *sql.Rows) error {
				var n int64
				err := rows.Scan(&n)
				old = append(old, n)
				return err
			})
		if err != nil {
			return nil, err
		}
		for _, n := range old {
			for _, del := range []string{
				`DELETE FROM events WHERE run = ?`, `DELETE FROM settled WHERE run = ?`, `DELETE FROM specs WHERE run = ?`, `DELETE FROM runs WHERE n = ?`,
			} {
				if err := w.exec(del, n); err != nil {
					return nil, err
				}
			}
		}
		pruned = int64(len(old))
		return nil, nil
	})
	if err != nil {
		return 0, err
	}
	return int(pruned), nil
}
