package postgres

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/interlude-go/interlude/store"
)

// flushSize bounds how many entries share one transaction.
const flushSize = 256

// job is one call's entries on their way to a transaction.
type job struct {
	entries []*entry
	// taken is set once, by the flush that begins the job or by the caller that gives it up.
	taken atomic.Bool
	left  atomic.Int64 // entries that are not done yet
	done  chan struct{}
	errs  []error // by entry, the flushes' until done is closed
}

// take reports whether the job is the taker's.
func (j *job) take() bool { return j.taken.CompareAndSwap(false, true) }

// finish tells the caller of one entry.
func (e *entry) finish(err error) {
	if e.job == nil { // of a claim
		return
	}
	e.job.errs[e.at] = err
	if e.job.left.Add(-1) == 0 {
		close(e.job.done)
	}
}

// Commit implements store.Writer. What arrives while transactions are under way shares the next
// one.
func (s *Store) Commit(ctx context.Context, batch []store.Commit) []error {
	errs := make([]error, len(batch))
	j := &job{entries: make([]*entry, 0, len(batch)), done: make(chan struct{})}
	for i := range batch {
		e, err := newEntry(&batch[i])
		if errs[i] = err; err == nil {
			e.job, e.at = j, len(j.entries)
			s.recall(e)
			j.entries = append(j.entries, e)
		}
	}
	if len(j.entries) == 0 {
		return errs
	}
	j.errs = make([]error, len(j.entries))
	j.left.Store(int64(len(j.entries)))
	err := s.flushed(ctx, j)
	next := 0
	for i := range errs {
		if errs[i] != nil {
			continue
		}
		if errs[i] = err; err == nil {
			errs[i] = j.errs[next]
		}
		next++
	}
	return errs
}

// flushed hands the job over and waits for it. When ctx ends before its flush has begun, nothing is
// written; when it ends later, the outcome is unknown to the caller.
func (s *Store) flushed(ctx context.Context, j *job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !s.calls.begin(s.closed) { // no job comes after the flushes have left
		return store.ErrClosed
	}
	defer s.calls.pending.Done()
	select {
	case s.jobs <- j:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-j.done:
		return nil
	case <-ctx.Done():
		if j.take() {
			return ctx.Err()
		}
		return fmt.Errorf("postgres: outcome unknown: %w", ctx.Err())
	}
}

// flushing flushes jobs until the store is closed, and then what has arrived already.
func (s *Store) flushing() {
	for j := range s.jobs {
		s.flush(s.gather(j))
	}
}

// gather takes what has arrived meanwhile: natural batching, without waiting for more. A job's own
// entries are not bounded here.
func (s *Store) gather(j *job) (entries []*entry) {
	add := func(j *job) {
		if j.take() {
			entries = append(entries, j.entries...)
		}
	}
	add(j)
	for !s.o.NoGroupCommit && len(entries) < flushSize {
		select {
		case j, ok := <-s.jobs:
			if !ok {
				return entries
			}
			add(j)
		default:
			return entries
		}
	}
	return entries
}
