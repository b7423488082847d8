package sqlite

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/interlude-go/interlude/store"
)

// flushSize bounds how many entries share one transaction.
const flushSize = 512

// job is one call's part of a transaction.
type job struct {
	// do makes the writes; its error fails the whole transaction, so it is only for what the
	// database itself could not do. What the call is refused for stays with the job. It returns
	// what to tell watchers after the commit.
	do   func(w *writer) ([]store.Hint, error)
	look func(w *writer) error // instead of do: a look without a transaction
	size int
	// taken is set once, by the writer that begins the job or by the caller that gives it up.
	taken atomic.Bool
	err   error // why the transaction failed; set before done is closed
	done  chan struct{}
}

// take reports whether the job is the taker's.
func (j *job) take() bool { return j.taken.CompareAndSwap(false, true) }

// writer owns the writing connection. Everything but jobs and what is atomic is for its goroutine
// alone.
type writer struct {
	*conn
	jobs     chan *job
	closed   <-chan struct{}
	watchers *store.Watchers
	alone    bool          // no group commit
	gone     chan struct{} // closed when run has returned: a job that is not done then was never begun
	meter    meter

	name   string // tells the changes of this store from those of others
	noted  []byte // reused from transaction to transaction
	recent recent
	served map[string]string // by pool: the key served last, a hint for fairness
	first  string            // the pool at which the last claim began, a hint for fairness
}

func newWriter(c *conn, closed <-chan struct{}, ws *store.Watchers, alone bool) *writer {
	return &writer{
		conn: c, jobs: make(chan *job, flushSize), closed: closed, watchers: ws, alone: alone,
		served: make(map[string]string), name: rand.Text(), gone: make(chan struct{}),
	}
}

// write runs do in a transaction that it may share with others, and returns when that is durable.
// When ctx ends before the writer has begun, do is not run; when it ends later, the outcome is
// unknown to the caller.
func (s *Store) write(ctx context.Context, size int, do func(w *writer) ([]store.Hint, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{do: do, size: size, done: make(chan struct{})}
	select {
	case <-s.closed:
		return store.ErrClosed
	default:
	}
	select {
	case s.writer.jobs <- j:
	case <-s.closed:
		return store.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-j.done:
		return j.err
	case <-s.writer.gone:
		return j.leftBehind()
	case <-ctx.Done():
		if j.take() {
			return ctx.Err()
		}
		return fmt.Errorf("sqlite: outcome unknown: %w", ctx.Err())
	}
}

// leftBehind is the answer to a job that came when the writer was leaving.
func (j *job) leftBehind() error {
	select {
	case <-j.done:
		return j.err
	default:
		return store.ErrClosed
	}
}

// look runs do on the writing connection, outside a transaction.
func (s *Store) look(do func(w *writer) error) error {
	j := &job{look: do, done: make(chan struct{})}
	select {
	case s.writer.jobs <- j:
	case <-s.closed:
		return store.ErrClosed
	}
	select {
	case <-j.done:
		return j.err
	case <-s.writer.gone:
		return j.leftBehind()
	}
}

// run flushes jobs until the store is closed, and then what is waiting already.
func (w *writer) run() {
	defer close(w.gone)
	for {
		select {
		case j := <-w.jobs:
			w.flush(w.gather(j))
			continue
		case <-w.closed:
		}
		for {
			select {
			case j := <-w.jobs:
				w.flush(w.gather(j))
			default:
				return
			}
		}
	}
}

// gather takes what has arrived meanwhile: natural batching, without waiting for more.
func (w *writer) gather(j *job) []*job {
	batch, size := []*job{j}, j.size
	for !w.alone && size < flushSize {
		select {
		case j := <-w.jobs:
			batch, size = append(batch, j), size+j.size
		default:
			return batch
		}
	}
	return batch
}

// flush makes one transaction of the batch.
func (w *writer) flush(batch []*job) {
	batch = slices.DeleteFunc(batch, func(j *job) bool {
		if j.look == nil {
			return false
		}
		j.err = j.look(w)
		close(j.done)
		return true
	})
	if len(batch) == 0 {
		return
	}
	hints, err := w.transact(batch)
	for _, j := range batch {
		if err != nil {
			j.err = fmt.Errorf("sqlite: write: %w", explain(err))
		}
		close(j.done)
	}
	w.watchers.Tell(hints)
}

func (w *writer) transact(batch []*job) (hints []store.Hint, err error) {
	if _, err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return nil, err
	}
	before := w.meter.pending
	defer func() {
		if err != nil {
			_, _ = w.exec("ROLLBACK") // may have been rolled back already
			w.recent.forget()         // it may hold what was not stored
			w.meter.pending = before
			hints = nil
		}
	}()
	if err := w.recall(); err != nil {
		return nil, err
	}
	for _, j := range batch {
		if !j.take() {
			continue
		}
		told, err := j.do(w)
		if err != nil {
			return nil, err
		}
		hints = append(hints, told...)
	}
	if err := w.noteChanges(hints); err != nil {
		return nil, err
	}
	if _, err := w.exec("COMMIT"); err != nil {
		return nil, err
	}
	w.meter.flushed()
	return hints, nil
}
