package decide

import (
	"sync"
	"time"

	"github.com/interlude-go/interlude/store"
)

// commits pools the commits that decisions return: a commit is large, and each run needs six.
var commits = sync.Pool{New: func() any { return new(store.Commit) }}

// newCommit returns a commit that holds the run as it was read, for a decision to change.
func newCommit(prev *store.Run) *store.Commit {
	c := commits.Get().(*store.Commit) //nolint:forcetypeassert // there is nothing else in it
	c.Run, c.Expect = *prev, prev.Version
	return c
}

// Recycle returns a commit to the pool, after it was stored or given up. Its events must not be used
// afterwards. The call is optional: the garbage collector takes the other commits.
func Recycle(c *store.Commit) {
	if EncodedSize(c.Events) <= largestReused {
		c.Reset()
		commits.Put(c)
	}
}

// largestReused is the largest size of a commit's events, in bytes, whose memory is used again.
const largestReused = 64 << 10

// EncodedSize returns the size of the events in bytes.
func EncodedSize(events []store.Event) (size int) {
	for _, e := range events {
		size += len(e.Body)
	}
	return size
}

// Detach returns the commit as a value, and its emptied struct to the pool. The value keeps the
// memory of its events, so no other commit uses that again.
func Detach(c *store.Commit) store.Commit {
	detached := *c
	*c = store.Commit{}
	commits.Put(c)
	return detached
}

// Later returns the later of two times. A run's time never goes back, although nodes' clocks
// differ: the time of a commit is the later of now and Run.UpdatedAt.
func Later(now, last time.Time) time.Time {
	if now.Before(last) {
		return last
	}
	return now
}

// notBefore returns the first time, as every store represents it in UTC and microseconds, that is not
// before t.
func notBefore(t time.Time) time.Time {
	return t.Add(time.Microsecond - 1).UTC().Truncate(time.Microsecond)
}
