package sqlite

import (
	"bytes"
	"context"
	"strconv"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// Each transaction that changes runs leaves a row in changes that names them, for the watches of
// other processes: they tell the followers of these runs, and leave all others alone. The row costs
// no flush of its own. Only the last rows are kept; a watch that missed some tells everybody.

// keptChanges is how many rows are kept at least, and changesBetween how many transactions go by
// until the rest is deleted.
const (
	keptChanges    = 2048
	changesBetween = 256
)

// noteChanges leaves the row of the transaction under way.
func (w *writer) noteChanges(hints []store.Hint) error {
	if len(hints) == 0 {
		return nil
	}
	w.noted = w.noted[:0]
	for i := range hints {
		w.noted = appendHint(w.noted, &hints[i])
	}
	n, _, err := w.insert(`INSERT INTO changes (writer, hints) VALUES (?, ?)`, w.name, w.noted)
	if err == nil && n%changesBetween == 0 {
		_, err = w.exec(`DELETE FROM changes WHERE n <= ?`, n-keptChanges)
	}
	return err
}

// appendHint adds a hint's run, state and last event, each with a NUL behind it: a run's id holds
// none.
func appendHint(b []byte, h *store.Hint) []byte {
	b = append(append(b, h.RunID...), 0)
	b = append(append(b, h.State...), 0)
	return append(strconv.AppendUint(b, h.Seq, 10), 0)
}

// readHints reads what appendHint wrote.
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
// row. Known is false when some of them are gone.
func (w *writer) changesAfter(after int64) (hints []store.Hint, last int64, known bool, _ error) {
	r, err := w.one(`SELECT coalesce(max(n), 0), coalesce((SELECT n FROM changes WHERE n > ? ORDER BY n LIMIT 1), 0)
		FROM changes`, after)
	if err != nil {
		return nil, 0, false, err
	}
	last = r.int(0)
	if first := r.int(1); first > after+1 || last < after || last-after > keptChanges {
		return nil, last, false, nil
	}
	known = true
	err = w.each(context.Background(), func(r row) error {
		some, ok := readHints(r.blob(0))
		known = known && ok
		hints = append(hints, some...)
		return nil
	}, `SELECT hints FROM changes WHERE n > ? AND n <= ? AND writer <> ? ORDER BY n`, after, last, w.name)
	return hints, last, known, err
}
