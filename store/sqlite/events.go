package sqlite

import (
	"context"
	"errors"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/entry"
	"github.com/interlude-go/interlude/store/internal/refuse"
)

// A run's newest events, its tail, are in the run's row, so that most commits write one row. When
// they outgrow it, they all move to the table log.
const (
	maxTail   = 3 << 10 // bytes of events in a run's row
	maxInline = 1 << 10 // bytes of a spec in a run's row
)

// seqBits is the number of low bits of a log key with the event's number. The others have the
// number of the run's row.
const seqBits = 28

const maxSeq = store.MaxSeq

const _ = uint(1<<seqBits - 1 - maxSeq) // every number fits

// logKey is the log's key for a run's events up to the number.
func logKey(row int64, seq uint64) int64 { return row<<seqBits | int64(seq) }

type tail struct {
	first uint64 // number of the first one
	lines []byte // the events' bodies, a line each
}

func (t tail) column() []byte {
	if t.lines == nil {
		return []byte{}
	}
	return t.lines
}

// with returns the tail with more events, for which it has room, appended in its memory. A tail has
// at most one successor, since a failed transaction empties the cache.
func (t tail) with(lines []byte) tail {
	if cap(t.lines) < maxTail {
		t.lines = append(make([]byte, 0, maxTail), t.lines...)
	}
	if len(t.lines) > 0 {
		t.lines = append(t.lines, '\n')
	}
	t.lines = append(t.lines, lines...)
	return t
}

// appendEvents returns the tail with the entry's events. Events without room move to the log.
func (w *writer) appendEvents(row int64, t tail, e *entry.Entry) (tail, error) {
	if len(e.Events) == 0 {
		return t, nil
	}
	if len(t.lines) == 0 {
		t.first = e.FirstSeq()
	}
	if len(t.lines)+1+len(e.EventLines) <= maxTail {
		return t.with(e.EventLines), nil
	}
	if len(t.lines) > 0 {
		if err := w.insertLog(row, t.first, e.FirstSeq()-1, t.lines); err != nil {
			return t, err
		}
	}
	if len(e.EventLines) <= maxTail {
		return tail{first: e.FirstSeq()}.with(e.EventLines), nil
	}
	return tail{first: e.Run.Seq + 1}, w.insertLog(row, e.FirstSeq(), e.Run.Seq, e.EventLines)
}

func (w *writer) insertLog(row int64, first, last uint64, lines []byte) error {
	_, err := w.exec(`INSERT INTO log (k, first, bodies) VALUES (?, ?, ?)`, logKey(row, last), int64(first), lines)
	w.countRow(len(lines))
	return err
}

var errPageFull = errors.New("sqlite: page is full")

// Events implements store.Reader. A caller that follows a run needs only the run's row.
func (s *Store) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	if err := store.ValidateLimit(limit); err != nil {
		return nil, err
	}
	page := store.EventPage{After: min(after, maxSeq), Limit: limit} // maxSeq is beyond every event
	err := s.read(ctx, func(c *conn) error {
		n, t, err := c.loadTail(id)
		if err != nil {
			return err
		}
		if page.After+1 < t.first { // the page begins in the log: both are read in one snapshot
			return c.snapshot(func() error {
				if n, t, err = c.loadTail(id); err != nil {
					return err
				}
				if err := c.loadLog(n, &page); err != nil {
					return err
				}
				page.Add(t.first, t.lines)
				return nil
			})
		}
		page.Add(t.first, t.lines)
		return nil
	})
	return page.Events, err
}

func (c *conn) loadTail(id string) (n int64, t tail, _ error) {
	r, err := c.one(`SELECT n, first, tail FROM runs WHERE id = ?`, id)
	if errors.Is(err, errNoRow) {
		err = refuse.NotFound(id)
	}
	if err != nil {
		return 0, t, err
	}
	return r.int(0), tail{uint64(r.int(1)), r.blob(2)}, nil
}

func (c *conn) loadLog(n int64, page *store.EventPage) error {
	err := c.each(context.Background(), func(r row) error {
		if page.Add(uint64(r.int(0)), r.blob(1)); page.Full() {
			return errPageFull
		}
		return nil
	}, `SELECT first, bodies FROM log WHERE k > ? AND k <= ? ORDER BY k LIMIT ? + 0`, logKey(n, page.After),
		logKey(n, maxSeq), int64(page.Limit))
	if errors.Is(err, errPageFull) {
		return nil
	}
	return err
}
