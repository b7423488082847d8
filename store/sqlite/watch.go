package sqlite

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// Watch implements store.Watcher: hints of this process's commits include events and record, others
// do not.
func (s *Store) Watch(fn func(store.Hint)) (stop func()) { return s.watchers.Watch(fn) }

// pollChanges detects commits of other processes while there are watchers. On the writing
// connection data_version changes only by these; the table "changes" names the changed runs while
// this store is registered as a watcher. The first poll of a registration always reports that
// anything may have changed.
func (s *Store) pollChanges(interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var version, last int64
	var renewal time.Time // when the registration is to be renewed
	for {
		select {
		case <-tick.C:
		case <-s.closed:
			return
		}
		if !s.watchers.Any() {
			version = 0 // no file has it: the next poll reports that anything may have changed
			if s.registered {
				s.registered = s.write(context.Background(), 1, (*writer).unregisterWatcher) != nil
			}
			continue
		}
		if now := time.Now(); !s.registered || now.After(renewal) {
			if !s.registered {
				version = 0
			}
			s.registered = s.write(context.Background(), 1, (*writer).registerWatcher) == nil
			renewal = now.Add(registration / 4)
		}
		var hints []store.Hint
		err := s.inspectWriter(func(w *writer) error {
			if err := w.present.check(); err != nil {
				return err
			}
			r, err := w.one("PRAGMA data_version")
			if err != nil || r.int(0) == version {
				return err
			}
			seen := r.int(0)
			s.registered, err = w.exists(`SELECT 1 FROM watchers WHERE writer = ? AND until > ?`, w.name,
				time.Now().UnixMicro())
			if err != nil {
				return err
			}
			var complete bool
			hints, last, complete, err = w.changesAfter(last)
			if err == nil && (!complete || !s.registered || version == 0) {
				hints = []store.Hint{{}}
			}
			if err == nil {
				version = seen
			}
			return err
		})
		if err == nil {
			s.watchers.Notify(hints)
		}
	}
}

// registration is the lifetime of a watcher's registration. Until then a killed watcher costs the
// others a page per transaction.
const registration = 2 * time.Minute

// registerWatcher registers or renews this store as a watcher, and removes expired ones.
func (w *writer) registerWatcher() ([]store.Hint, error) {
	now := time.Now()
	_, err := w.exec(`DELETE FROM watchers WHERE until <= ?`, now.UnixMicro())
	if err == nil {
		_, err = w.exec(`INSERT OR REPLACE INTO watchers (writer, until) VALUES (?, ?)`, w.name,
			now.Add(registration).UnixMicro())
	}
	w.cache.watched = nil
	return nil, err
}

func (w *writer) unregisterWatcher() ([]store.Hint, error) {
	_, err := w.exec(`DELETE FROM watchers WHERE writer = ?`, w.name)
	return nil, err
}

func (w *writer) watchedByOthers() (bool, error) {
	if w.cache.watched == nil {
		r, err := w.one(`SELECT coalesce(max(until), 0) FROM watchers WHERE writer <> ?`, w.name)
		if err != nil {
			return false, err
		}
		until := time.UnixMicro(r.int(0))
		w.cache.watched = &until
	}
	return time.Now().Before(*w.cache.watched), nil
}

// While another process watches, each transaction that changes runs inserts a row with their names
// into "changes": the other's poll then wakes only their followers. Watchers are looked up under
// the write lock, so no later transaction is missed. The row costs a page, but no extra flush. Only
// the last rows are kept; a poll that missed some wakes all followers.

// keptChanges is the minimum number of kept rows, and changesBetween the number of transactions
// between deletions of the rest.
const (
	keptChanges    = 2048
	changesBetween = 256
)

func (w *writer) insertChanges(hints []store.Hint) error {
	if len(hints) == 0 {
		return nil
	}
	if watched, err := w.watchedByOthers(); err != nil || !watched {
		return err
	}
	w.changes = w.changes[:0]
	for i := range hints {
		w.changes = appendHint(w.changes, &hints[i])
	}
	n, _, err := w.insert(`INSERT INTO changes (writer, hints) VALUES (?, ?)`, w.name, w.changes)
	if err == nil && n%changesBetween == 0 {
		_, err = w.exec(`DELETE FROM changes WHERE n <= ?`, n-keptChanges)
	}
	return err
}

// appendHint adds a hint's run, state and last event, each followed by a NUL, which no id holds.
func appendHint(b []byte, h *store.Hint) []byte {
	b = append(append(b, h.RunID...), 0)
	b = append(append(b, h.State...), 0)
	return append(strconv.AppendUint(b, h.Seq, 10), 0)
}

func readHints(body []byte) (hints []store.Hint, ok bool) {
	parts := bytes.Split(body, []byte{0})
	if len(parts)%3 != 1 {
		return nil, false
	}
	for ; len(parts) > 1; parts = parts[3:] {
		seq, err := strconv.ParseUint(string(parts[2]), 10, 64)
		if err != nil {
			return nil, false
		}
		hints = append(hints, store.Hint{RunID: string(parts[0]), State: fsm.State(parts[1]), Seq: seq})
	}
	return hints, len(hints) > 0
}

// changesAfter returns the hints of other processes' transactions since the given row, and the last
// row. complete is false if some rows are gone.
func (w *writer) changesAfter(after int64) (hints []store.Hint, last int64, complete bool, _ error) {
	r, err := w.one(`SELECT coalesce(max(n), 0), coalesce((SELECT n FROM changes WHERE n > ? ORDER BY n LIMIT 1), 0)
		FROM changes`, after)
	if err != nil {
		return nil, 0, false, err
	}
	last = r.int(0)
	if first := r.int(1); first > after+1 || last < after || last-after > keptChanges {
		return nil, last, false, nil
	}
	complete = true
	err = w.each(context.Background(), func(r row) error {
		some, ok := readHints(r.blob(0))
		complete = complete && ok
		hints = append(hints, some...)
		return nil
	}, `SELECT hints FROM changes WHERE n > ? AND n <= ? AND writer <> ? ORDER BY n`, after, last, w.name)
	return hints, last, complete, err
}
