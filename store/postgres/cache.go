package postgres

import (
	"cmp"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/cache"
)

// Bounds of a generation of cached runs: their number, and the bytes of their records and specs.
const (
	cachedRuns  = 4096
	cachedBytes = 8 << 20
)

// runCache has the runs that this process recently wrote or read, so that the next commit of one
// need not read and decode its record. It may be stale: a run's record at a version never changes
// within an incarnation, and every write names its row, version and incarnation.
type runCache struct {
	mu   sync.Mutex
	runs cache.Runs[storedRun] // guarded by mu

	// events caches the events of recent commits while this process reads a feed.
	events cache.Commits[commitKey]
	feeds  atomic.Bool // this process has read a feed
}

// commitKey is the row of a commit's run, and the number of its last event.
type commitKey struct{ run, last int64 }

type storedRun struct {
	row  int64
	run  *store.Run // never changed
	spec []byte     // never changed; nil if unknown
}

func newRunCache() runCache { return runCache{runs: cache.New[storedRun](cachedRuns, cachedBytes)} }

func (c *runCache) get(id string) (storedRun, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs.Get(id)
}

// put caches a run with the size of its record, unless a later version or incarnation is cached. A
// finished run is not written again.
func (c *runCache) put(s storedRun, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := s.run.ID
	if cached, ok := c.runs.Get(id); ok && cached.row == s.row {
		if cmp.Or(cmp.Compare(cached.run.Incarnation, s.run.Incarnation),
			cmp.Compare(cached.run.Version, s.run.Version)) > 0 {
			return
		}
		if s.spec == nil && cached.run.Incarnation == s.run.Incarnation {
			s.spec = cached.spec
		}
	}
	if s.run.State.Terminal() {
		c.runs.Delete(id)
		return
	}
	c.runs.Put(id, s, size+len(s.spec))
}

// clearIfDisconnected empties the cache after a broken connection. The next server may be a
// promoted standby without the last commits, with other records under the same versions.
func (c *runCache) clearIfDisconnected(err error) {
	var e *pgconn.PgError
	if err != nil && (!errors.As(err, &e) || strings.HasPrefix(e.Code, "57P") || strings.HasPrefix(e.Code, "08")) {
		c.clear()
	}
}

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
