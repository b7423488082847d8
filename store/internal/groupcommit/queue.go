// Package groupcommit lets the writes of many goroutines share one flush: all writes that arrive
// during a flush join the next flush. An idle store adds no delay; a busy store shares each
// transaction among many callers.
package groupcommit

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/interlude-go/interlude/store"
)

// Queue passes jobs from submitting goroutines to flushing ones. Use New.
type Queue[T any] struct {
	name    string // of the store, for errors
	jobs    chan *Job[T]
	limit   int           // a batch of this size accepts no other job
	closed  chan struct{} // closed: no new jobs
	drained chan struct{} // no flush is under way, and none follows
}

// Job is one call's part of a flush.
type Job[T any] struct {
	Work T

	size int
	// started is set once: by the flush that executes the job, or by the caller that withdraws it.
	started atomic.Bool
	err     error // set before done is closed
	done    chan struct{}
}

// New returns a queue whose batches are full once their jobs' sizes add up to limit. Unless
// grouped, each job is a separate batch.
func New[T any](name string, limit int, grouped bool) *Queue[T] {
	q := &Queue[T]{
		name: name, jobs: make(chan *Job[T], limit), limit: limit,
		closed: make(chan struct{}), drained: make(chan struct{}),
	}
	if !grouped {
		q.limit = 1
	}
	return q
}

// Do submits work and returns the error that it was finished with. If ctx ends before a flush has
// started the job, the job is not executed; if it ends later, the outcome is unknown. After Close,
// Do returns store.ErrClosed.
func (q *Queue[T]) Do(ctx context.Context, work T, size int) error {
	return q.Submit(ctx, NewJob(work, size))
}

// NewJob returns a job for Submit, for work that must refer to its own job.
func NewJob[T any](work T, size int) *Job[T] {
	return &Job[T]{Work: work, size: size, done: make(chan struct{})}
}

// Submit is Do for a job of NewJob.
func (q *Queue[T]) Submit(ctx context.Context, j *Job[T]) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select { // the queue may have room when it is closed already
	case <-q.closed:
		return store.ErrClosed
	default:
	}
	select {
	case q.jobs <- j:
	case <-q.closed:
		return store.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-j.done:
		return j.err
	case <-q.drained:
		return j.errAfterDrain()
	case <-ctx.Done():
		if j.Start() {
			return ctx.Err()
		}
		select {
		case <-j.done: // its end is known, so the end of ctx does not matter
			return j.err
		default:
		}
		return fmt.Errorf("%s: outcome unknown: %w", q.name, ctx.Err())
	}
}

// errAfterDrain is the result of a job whose queue has drained. A job that is not done by then came
// after the last flush.
func (j *Job[T]) errAfterDrain() error {
	select {
	case <-j.done:
		return j.err
	default:
		return store.ErrClosed
	}
}

// Start reports whether the job may be executed: only once, and only if the caller has not
// withdrawn it.
func (j *Job[T]) Start() bool { return j.started.CompareAndSwap(false, true) }

// Finish ends the job: its caller returns err. It is called once.
func (j *Job[T]) Finish(err error) {
	j.err = err
	close(j.done)
}

// Serve passes batches to flush until the queue is closed and empty. Several goroutines may serve
// one queue. Flush calls Start for each job that it executes, and ensures that Finish is called for
// each, possibly after it has returned. It must not retain the slice of jobs.
func (q *Queue[T]) Serve(flush func(batch []*Job[T])) {
	var batch []*Job[T]
	flushFrom := func(first *Job[T]) {
		batch = q.gather(batch[:0], first)
		flush(batch)
		clear(batch)
	}
	for {
		select {
		case j := <-q.jobs:
			flushFrom(j)
			continue
		case <-q.closed:
		}
		for {
			select {
			case j := <-q.jobs:
				flushFrom(j)
			default:
				return
			}
		}
	}
}

// gather adds to an empty batch the job and what else has arrived, without waiting.
func (q *Queue[T]) gather(batch []*Job[T], first *Job[T]) []*Job[T] {
	batch, size := append(batch, first), first.size
	for size < q.limit {
		select {
		case j := <-q.jobs:
			batch, size = append(batch, j), size+j.size
		default:
			return batch
		}
	}
	return batch
}

// Close makes later calls of Do return store.ErrClosed; earlier jobs are still served. Call it
// once.
func (q *Queue[T]) Close() { close(q.closed) }

// Drained signals that Serve has returned everywhere and no job is running. Call it once, after
// Close.
func (q *Queue[T]) Drained() { close(q.drained) }

// Len returns the number of jobs that wait for a flush.
func (q *Queue[T]) Len() int { return len(q.jobs) }

// Counters count the durable writes of a store. The zero value is ready, and safe for concurrent
// use.
type Counters struct{ commits, flushes, rows, bytes, claims atomic.Uint64 }

// AddClaim counts a claim that locks.
func (c *Counters) AddClaim() { c.claims.Add(1) }

// Add counts one flush and its writes. An empty flush costs no disk access, and is not counted.
func (c *Counters) Add(written store.Counters) {
	if written.Rows == 0 {
		return
	}
	c.flushes.Add(1)
	c.commits.Add(written.Commits)
	c.rows.Add(written.Rows)
	c.bytes.Add(written.Bytes)
}

func (c *Counters) Load() store.Counters {
	return store.Counters{
		Commits: c.commits.Load(), Flushes: c.flushes.Load(), Rows: c.rows.Load(), Bytes: c.bytes.Load(),
		Claims: c.claims.Load(),
	}
}
