package decide

import (
	"sync"
	"time"

	"github.com/interlude-go/interlude/store"
)

// commits pools commits: they are large, and each run needs six.
var commits = sync.Pool{New: func() any { return new(store.Commit) }}

// newCommit returns a commit with the run as read, for a decision to change.
func newCommit(prev *store.Run) *store.Commit {
	c := commits.Get().(*store.Commit) //nolint:forcetypeassert // there is nothing else in it
	c.Run, c.Expect = *prev, prev.Version
	return c
}

// Recycle returns a stored or abandoned commit to the pool. Its events must not be used afterwards.
// The call is optional.
func Recycle(c *store.Commit) {
	if EncodedSize(c.Events) <= largestReused {
		c.Reset()
		commits.Put(c)
	}
}

// largestReused is the largest size of a commit's events, in bytes, whose memory is reused.
const largestReused = 64 << 10

func EncodedSize(events []store.Event) (size int) {
	for _, e := range events {
		size += len(e.Body)
	}
	return size
}

// Detach returns the commit as a value, and its emptied struct to the pool. The value keeps the
// memory of its events.
func Detach(c *store.Commit) store.Commit {
	detached := *c
	*c = store.Commit{}
	commits.Put(c)
	return detached
}

// Later returns the later of two times. A commit's time is the later of now and Run.UpdatedAt, so
// that a run's time never goes back, although nodes' clocks differ.
func Later(now, last time.Time) time.Time {
	if now.Before(last) {
		return last
	}
	return now
}

// notBefore returns the first time not before t in stores' form: UTC and microseconds.
func notBefore(t time.Time) time.Time {
	return t.Add(time.Microsecond - 1).UTC().Truncate(time.Microsecond)
}
