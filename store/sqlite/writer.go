package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/cache"
	"github.com/interlude-go/interlude/store/internal/claim"
	"github.com/interlude-go/interlude/store/internal/groupcommit"
)

// maxBatch bounds how many entries share one transaction.
const maxBatch = 512

// work is one call on the writing connection: either write or inspect is set.
type work struct {
	// write runs in a transaction, which it may share. It returns the hints for watchers after the
	// commit. An error fails the whole transaction, so it returns only the database's errors, and
	// stores a call's refusal elsewhere.
	write func(w *writer) ([]store.Hint, error)
	// inspect runs outside a transaction.
	inspect func(w *writer) error
}

type job = groupcommit.Job[work]

// writer owns the writing connection. Only its goroutine uses its fields, except those safe for
// concurrent use: queue, watchers, counters, rotation, recent, and the runs in cache.
type writer struct {
	*conn

	queue    *groupcommit.Queue[work]
	grouped  bool // calls share transactions
	present  *present
	wal      *walWatch
	fileID   fileID // reused
	watchers *store.Watchers
	unfilled *unfilled
	counters groupcommit.Counters
	written  store.Counters // by the transaction under way

	name     string // distinguishes this store's changes from others'
	changes  []byte // reused
	cache    *writeCache
	rotation claim.Rotation // where the last claims ended, so that pools and keys take turns

	noted       []newCommit // recorded for the feeds by the transaction under way
	notedStored int         // how many of noted are stored
	notedText   []byte      // reused
	recent      cache.Commits[notedCommit]
}

func newWriter(c *conn, ws *store.Watchers, grouped bool) *writer {
	return &writer{
		conn: c, queue: groupcommit.New[work]("sqlite", maxBatch, grouped), grouped: grouped, watchers: ws,
		name: rand.Text(), cache: newWriteCache(),
	}
}

// write runs do in a transaction that it may share, and returns when that is durable. When ctx ends
// before the writer has started do, it is not run; later, the outcome is unknown to the caller.
func (s *Store) write(ctx context.Context, size int, do func(w *writer) ([]store.Hint, error)) error {
	return s.writer.queue.Do(ctx, work{write: do}, size)
}

func (s *Store) inspectWriter(do func(w *writer) error) error {
	return s.writer.queue.Do(context.Background(), work{inspect: do}, 0)
}

// run serves the queue until the store is closed.
func (w *writer) run() {
	defer w.queue.Drained()
	w.queue.Serve(w.flush)
}

func (w *writer) flush(batch []*job) {
	batch = slices.DeleteFunc(batch, func(j *job) bool {
		if j.Work.inspect == nil {
			return false
		}
		err := w.present.err()
		if err == nil {
			err = j.Work.inspect(w)
		}
		j.Finish(err)
		return true
	})
	if len(batch) == 0 {
		return
	}
	hints, err := w.transactPresent(batch)
	if err != nil {
		err = fmt.Errorf("sqlite: write: %w", explain(err))
	}
	for _, j := range batch {
		j.Finish(err)
	}
	w.watchers.Notify(hints)
}

// transactPresent makes the transaction, unless a file of the store was found missing or replaced.
// If one is found so afterwards, the transaction is not acknowledged.
func (w *writer) transactPresent(batch []*job) ([]store.Hint, error) {
	if err := w.present.err(); err != nil {
		return nil, err
	}
	hints, err := w.transact(batch)
	if gone := w.present.checkCommitted(&w.fileID); gone != nil {
		return nil, gone
	}
	if err != nil {
		return nil, err
	}
	if gone := w.checkBegunWAL(); gone != nil {
		return nil, gone
	}
	return hints, nil
}

func (w *writer) transact(batch []*job) (hints []store.Hint, err error) {
	if _, err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return nil, err
	}
	w.wal.reserve()
	w.written = store.Counters{}
	w.noted, w.notedStored = w.noted[:0], 0
	defer func() {
		if err != nil {
			_, _ = w.exec("ROLLBACK") // may have been rolled back already
			w.cache.clear()           // it may hold unstored data
			hints = nil
		}
	}()
	if err := w.cache.validate(w.conn); err != nil {
		return nil, err
	}
	for _, j := range batch {
		if !j.Start() {
			continue
		}
		changed, err := j.Work.write(w)
		if err != nil {
			return nil, err
		}
		hints = append(hints, changed...)
	}
	if err := errors.Join(w.insertNoted(), w.insertChanges(hints)); err != nil {
		return nil, err
	}
	if _, err := w.exec("COMMIT"); err != nil {
		return nil, err
	}
	w.counters.Add(w.written)
	w.keepNoted()
	return hints, nil
}

func (w *writer) countRow(bytes int) {
	w.written.Rows++
	w.written.Bytes += uint64(bytes)
}

// Counters implements store.Meter. Rows count runs, log, settled and labels; bytes count records,
// events, specs and settled interactions.
func (s *Store) Counters() store.Counters { return s.writer.counters.Load() }
