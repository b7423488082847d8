package sqlite

import (
	"sync"
	"time"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/cache"
)

// Bounds of a generation of cached runs: their number, and the bytes of their records and specs.
const (
	cachedRuns  = 1024
	cachedBytes = 4 << 20
)

// maxCachedNodes bounds each of the maps nodes and departed of a writeCache.
const maxCachedNodes = 1000

// writeCache holds the recently written runs, the nodes, pools and watchers, so that a run's next
// commit need not read and decode its record. It is consistent with the file while no other process
// writes: a transaction empties it if another process has written since the last one, and if it
// fails. SQLite treats its page cache alike.
type writeCache struct {
	version int64 // PRAGMA data_version, which others' commits change

	mu   sync.Mutex
	runs cache.Runs[storedRun] // guarded by mu, for Recent

	pools    []slots.Pool         // by name; nil when not loaded
	nodes    map[string]bool      // by id, whether registered; only nodes looked up
	departed map[string]time.Time // departure time by node id; zero: not gone
	watched  *time.Time           // until when another open store watches; nil when not loaded
	feeds    *feedState           // nil when not loaded

	incarnation *uint64 // nil when not loaded
}

type storedRun struct {
	row  int64
	run  *store.Run // never changed
	spec []byte     // never changed; nil if in a separate row and not loaded
	tail tail
}

func newWriteCache() *writeCache {
	return &writeCache{runs: cache.New[storedRun](cachedRuns, cachedBytes)}
}

// validate empties the cache if another process has written to the file. It needs the write lock.
func (c *writeCache) validate(conn *conn) error {
	r, err := conn.one("PRAGMA data_version")
	if err != nil {
		return err
	}
	if v := r.int(0); v != c.version {
		c.clear()
		c.version = v
	}
	return nil
}

func (c *writeCache) clear() {
	c.mu.Lock()
	c.runs.Clear()
	c.mu.Unlock()
	c.pools, c.nodes, c.departed, c.watched, c.feeds, c.incarnation = nil, nil, nil, nil, nil, nil
}

func (c *writeCache) run(id string) (storedRun, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs.Get(id)
}

// put caches a run just written; size is its share of the cache, in bytes. A finished run is
// removed, since it is never written again.
func (c *writeCache) put(s storedRun, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.run.State.Terminal() {
		c.runs.Delete(s.run.ID)
		return
	}
	c.runs.Put(s.run.ID, s, size)
}
