package decide

import (
	"sync"
	"time"

	"github.com/interlude-go/interlude/store"
)

// commits pools commits: they are large, and each run needs six.
var commits = sync.Pool{New: func() any { return new(store.Commit) }}

// newCommit returns a commit with a copy of the run, for a decision to change.
func newCommit(prev *store.Run) *store.Commit {
	c := commits.Get().(*store.Commit) //nolint:forcetypeassert // there is nothing else in it
	c.Run, c.Expect = *prev, prev.Version
	return c
}

// nextVersion returns a commit of the run's next version. Its time is the later of now and
// Run.UpdatedAt: a run's time never goes back, although nodes' clocks differ.
func nextVersion(run *store.Run, now time.Time) *store.Commit {
	c := newCommit(run)
	c.Run.Version++
	c.Run.UpdatedAt = Later(now, run.UpdatedAt)
	return c
}

// Recycle returns a stored or abandoned commit to the pool, which is optional. Its events must not
// be used afterwards.
func Recycle(c *store.Commit) {
	if EncodedSize(c.Events) <= largestReused {
		c.Reset()
		commits.Put(c)
	}
}

// largestReused bounds the events whose memory is reused, in bytes of one commit.
const largestReused = 64 << 10

func EncodedSize(events []store.Event) (size int) {
	for _, e := range events {
		size += len(e.Body)
	}
	return size
}

// Detach returns the commit as a value, for a batch. Its emptied struct returns to the pool.
func Detach(c *store.Commit) store.Commit {
	detached := *c
	*c = store.Commit{}
	commits.Put(c)
	return detached
}

// Later returns the later of two times.
func Later(now, last time.Time) time.Time {
	if now.Before(last) {
		return last
	}
	return now
}

// roundUp rounds a time up to the form of stores: UTC, in microseconds.
func roundUp(t time.Time) time.Time {
	return t.Add(time.Microsecond - 1).UTC().Truncate(time.Microsecond)
}
