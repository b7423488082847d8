package postgres

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/cache"
)

// Bounds of a generation of cached runs: how many, and the bytes of their records and specs.
const (
	cachedRuns  = 4096
	cachedBytes = 8 << 20
)

// runCache holds the runs that this process recently wrote or read, so that the next commit of one
// need not read and decode its record. It may be stale: a run's record at a version never changes,
// and every write names the row and the version that it is based on.
type runCache struct {
	mu   sync.Mutex
	runs cache.Runs[storedRun] // guarded by mu

	// events caches the events of recent commits while this process reads a feed.
	events cache.Commits[commitKey]
	feeds  atomic.Bool // this process has read a feed
}

// commitKey is a commit: the row of its run, and the number of its last event.
type commitKey struct{ run, last int64 }

// storedRun is a run as it stood at its version.
type storedRun struct {
	row  int64
	run  *store.Run // never changed
	spec []byte     // never changed; nil when not known
}

func newRunCache() runCache { return runCache{runs: cache.New[storedRun](cachedRuns, cachedBytes)} }

func (c *runCache) get(id string) (storedRun, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs.Get(id)
}

// put keeps a run whose record has the given size, unless a later version is cached. A finished one
// is not written again.
func (c *runCache) put(s storedRun, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := s.run.ID
	if cached, ok := c.runs.Get(id); ok && cached.row == s.row {
		if cached.run.Version > s.run.Version {
			return
		}
		if s.spec == nil {
			s.spec = cached.spec
		}
	}
	if s.run.State.Terminal() {
		c.runs.Delete(id)
		return
	}
	c.runs.Put(id, s, size+len(s.spec))
}

// clearIfDisconnected empties the cache if the error reports a broken connection. The next server
// may be a promoted standby without the last commits, where the same versions mean other records.
func (c *runCache) clearIfDisconnected(err error) {
	var e *pgconn.PgError
	if err != nil && (!errors.As(err, &e) || strings.HasPrefix(e.Code, "57P") || strings.HasPrefix(e.Code, "08")) {
		c.clear()
	}
}

// keepEvents keeps the events of a commit that is stored.
func (c *runCache) keepEvents(p *pendingCommit) {
	if len(p.Events) > 0 && c.feeds.Load() {
		c.events.Put(commitKey{p.row, int64(p.Run.Seq)}, cache.CommitEvents{RunID: p.Run.ID, Events: p.Events})
	}
}

func (c *runCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs.Clear()
	c.events.Clear()
}
