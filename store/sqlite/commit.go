package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// Commit implements store.Writer. All that needs no look at the file is done here, by the caller's
// goroutine: the writer's is the one that everybody waits for.
func (s *Store) Commit(ctx context.Context, batch []store.Commit) []error {
	errs := make([]error, len(batch))
	entries := make([]*entry, len(batch))
	some := false
	for i := range batch {
		entries[i], errs[i] = newEntry(&batch[i])
		some = some || errs[i] == nil
	}
	if !some {
		return errs
	}
	refusals := make([]error, len(batch)) // the writer's until the job is done
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
				hints = append(hints, e.hint())
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

// commit stores one entry, or says why it is refused. All that may refuse it comes before its first
// write.
func (w *writer) commit(e *entry) (refused, _ error) {
	if e.Expect == 0 {
		return w.create(e)
	}
	prev, err := w.previous(e.Run.ID)
	if errors.Is(err, errNoRow) {
		return fmt.Errorf("%w: run %s", store.ErrNotFound, e.Run.ID), nil
	}
	if errors.Is(err, store.ErrCorrupt) { // a fault of this run alone
		return fmt.Errorf("run %s: %w", e.Run.ID, err), nil
	}
	if err != nil {
		return nil, err
	}
	if refused, err := w.fenced(e, prev.run); refused != nil || err != nil {
		return refused, err
	}
	if prev.run.Version != e.Expect {
		return fmt.Errorf("%w: run %s is at version %d, not %d", store.ErrConflict, e.Run.ID, prev.run.Version,
			e.Expect), nil
	}
	if err := e.CheckNext(prev.run, false); err != nil {
		return err, nil
	}
	if e.Settled != nil && e.Settled.Key != "" && e.Settled.Question.ID > 1 { // the first one has none before it
		taken, err := w.exists(`SELECT 1 FROM settled WHERE run = ? AND key = ?`, prev.n, e.Settled.Key)
		if err != nil {
			return nil, err
		}
		if taken {
			return fmt.Errorf("%w: run %s: the idempotency key is taken", store.ErrInvalid, e.Run.ID), nil
		}
	}
	return nil, w.update(prev, e)
}

// previous is the run as it is stored, or errNoRow.
func (w *writer) previous(id string) (stored, error) {
	if s, ok := w.recent.get(id); ok {
		return s, nil
	}
	r, err := w.one(`SELECT n, record, spec, first, tail FROM runs WHERE id = ?`, id)
	if err != nil {
		return stored{}, err
	}
	run, err := store.Decode(r.blob(1))
	return stored{n: r.int(0), run: &run, spec: r.blob(2), tail: tail{uint64(r.int(3)), r.blob(4)}}, err
}

// fenced refuses a worker that is not, or not any more, the run's.
func (w *writer) fenced(e *entry, prev *store.Run) (refused, _ error) {
	f := e.Fence
	if f == nil {
		return nil, nil
	}
	stale := fmt.Errorf("%w: run %s", store.ErrStaleEpoch, e.Run.ID)
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
	is, known := w.recent.nodes[node]
	if known {
		return is, nil
	}
	is, err := w.exists(`SELECT 1 FROM nodes WHERE id = ?`, node)
	if err != nil {
		return false, err
	}
	if w.recent.nodes == nil || len(w.recent.nodes) > 1000 {
		w.recent.nodes = make(map[string]bool)
	}
	w.recent.nodes[node] = is
	return is, nil
}

// create inserts a new run.
func (w *writer) create(e *entry) (refused, _ error) {
	r := &e.Run
	pools, err := w.pools()
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(pools, func(p slots.Pool) bool { return p.Name == r.Pool }) {
		taken, err := w.exists(`SELECT 1 FROM runs WHERE id = ?`, r.ID)
		if err == nil && taken {
			return fmt.Errorf("%w: run %s", store.ErrExists, r.ID), nil
		}
		return fmt.Errorf("%w: %s", store.ErrUnknownPool, r.Pool), err
	}
	h := hotColumns(r)
	var within driver.Value
	if len(e.Spec) <= maxInline {
		within = e.Spec
	}
	t := tail{first: 1}
	if len(e.bodies) < maxTail {
		t = t.and(e.bodies)
	} else {
		t.first = r.Seq + 1
	}
	n, made, err := w.insert(
		`INSERT INTO runs (id, version, state, pool, engine, key, priority, created_at, queued_at, ready, delayed_until,
			epoch, record, first, tail, spec)
		VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		r.ID, string(r.State), r.Pool, r.Engine, r.Key, int64(r.Priority), r.CreatedAt.UnixMicro(), h.queuedAt, h.ready,
		h.delayedUntil, e.record,
		int64(t.first), t.blob(), within)
	if err != nil {
		return nil, err
	}
	if made == 0 {
		return fmt.Errorf("%w: run %s", store.ErrExists, r.ID), nil
	}
	if within == nil {
		if _, err := w.exec(`INSERT INTO specs (run, spec) VALUES (?, ?)`, n, e.Spec); err != nil {
			return nil, err
		}
		w.meter.row(0)
	}
	if len(e.bodies) >= maxTail {
		if err := w.spill(n, 1, r.Seq, e.bodies); err != nil {
			return nil, err
		}
	}
	indexed, err := w.indexLabels(n, r.Labels)
	if err != nil {
		return nil, err
	}
	for range indexed {
		w.meter.row(0)
	}
	w.meter.row(len(e.record) + len(t.bodies) + len(e.Spec))
	return nil, w.wrote(stored{n: n, spec: e.Spec, tail: t}, e)
}

// update writes a checked commit of an existing run.
func (w *writer) update(prev stored, e *entry) error {
	t, err := w.extend(prev.n, prev.tail, e)
	if err != nil {
		return err
	}
	r := &e.Run
	h := hotColumns(r)
	var changed int64
	// a report: no index has to change
	if r.State == prev.run.State && r.Epoch == prev.run.Epoch && h == hotColumns(prev.run) {
		changed, err = w.exec(
			`UPDATE runs SET version = ?, record = ?, first = ?, tail = ? WHERE n = ? AND version = ?`,
			int64(r.Version), e.record, int64(t.first), t.blob(), prev.n, int64(e.Expect))
	} else {
		changed, err = w.exec(
			`UPDATE runs SET version = ?, state = ?, queued_at = ?, ready = ?, delayed_until = ?, slot = ?, owner = ?,
				epoch = ?,
			asked_at = ?, deadline = ?, finished_at = ?, record = ?, first = ?, tail = ? WHERE n = ? AND version = ?`,
			int64(r.Version), string(r.State), h.queuedAt, h.ready, h.delayedUntil, h.slot, h.owner, int64(r.Epoch),
			h.askedAt, h.deadline, h.finishedAt, e.record, int64(t.first), t.blob(), prev.n, int64(e.Expect))
	}
	if err != nil {
		return err
	}
	if changed != 1 { // cannot be: the transaction holds the file's write lock since it looked
		return fmt.Errorf("%w: run %s changed inside a transaction", ErrCorrupt, r.ID)
	}
	w.meter.row(len(e.record) + len(t.bodies) + inline(prev.spec))
	return w.wrote(stored{n: prev.n, spec: prev.spec, tail: t}, e)
}

// wrote completes the commit of a run whose row was just written.
func (w *writer) wrote(s stored, e *entry) error {
	w.meter.pending.Commits++
	if e.Settled != nil {
		_, err := w.exec(`INSERT INTO settled (run, id, key, record) VALUES (?, ?, ?, ?)`, s.n,
			int64(e.Settled.Question.ID), text(e.Settled.Key), e.settled)
		if err != nil {
			return err
		}
		w.meter.row(len(e.settled))
	}
	s.run, e.stored = &e.Run, &e.Run
	w.recent.put(s, len(e.record)+len(s.spec)+maxTail)
	e.recycle()
	return nil
}

// hot are the columns that stand for what the record says; nil is NULL, and in no partial index.
type hot struct{ queuedAt, ready, delayedUntil, slot, owner, askedAt, deadline, finishedAt driver.Value }

func hotColumns(r *store.Run) hot {
	h := hot{owner: text(r.Owner), deadline: micros(r.Deadline), finishedAt: micros(r.FinishedAt)}
	if r.Slot {
		h.slot = int64(1)
	}
	if r.State == fsm.StateQueued {
		h.queuedAt = micros(r.QueuedAt)
		switch {
		case r.Slot: // claimed by its owner alone
		case r.NotBefore.After(r.UpdatedAt):
			h.delayedUntil = micros(r.NotBefore)
		default:
			h.ready = int64(1)
		}
	}
	if r.Pending != nil {
		h.askedAt = micros(r.Pending.AskedAt)
	}
	return h
}

func text(s string) driver.Value {
	if s == "" {
		return nil
	}
	return s
}

func micros(t time.Time) driver.Value {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}
