package sqlite

import (
	"sync"
	"time"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/cache"
)

// Bounds of a generation of cached runs: how many, and the bytes of their records and specs.
const (
	cachedRuns  = 1024
	cachedBytes = 4 << 20
)

// maxCachedNodes bounds the maps nodes and departed of a writeCache, each by itself.
const maxCachedNodes = 1000

// writeCache holds the runs that the writing connection recently wrote, the nodes, pools and
// watchers, so that the next commit of a run need not read and decode its record. It is consistent
// with the file as long as no other process writes: a transaction empties it if another process has
// written since the last one, once it has the write lock, and if the transaction fails. SQLite
// treats its page cache alike.
type writeCache struct {
	version int64 // PRAGMA data_version, which the commits of others change

	mu   sync.Mutex
	runs cache.Runs[storedRun] // guarded by mu, for Recent

	pools    []slots.Pool         // by name; nil when not loaded
	nodes    map[string]bool      // by id, whether the node is registered; only nodes that were looked up
	departed map[string]time.Time // departure time by node id, zero if the node has not gone
	watched  *time.Time           // until when another open store watches; nil when not loaded
	feeds    *feedState           // nil when not loaded
}

// storedRun is a run as stored in the file.
type storedRun struct {
	row  int64
	run  *store.Run // never changed
	spec []byte     // never changed; nil if stored in a separate row and not loaded
	tail tail
}

func newWriteCache() *writeCache {
	return &writeCache{runs: cache.New[storedRun](cachedRuns, cachedBytes)}
}

// validate empties the cache if another process has written to the file. A transaction calls it
// once it has the write lock.
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
	c.pools, c.nodes, c.departed, c.watched, c.feeds = nil, nil, nil, nil, nil
}

// run returns the run as it was written last, if it is kept.
func (c *writeCache) run(id string) (storedRun, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs.Get(id)
}

// put caches a run that was just written; size is its share of the cache, in bytes. A finished run
// is removed instead, since it is never written again.
func (c *writeCache) put(s storedRun, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.run.State.Terminal() {
		c.runs.Delete(s.run.ID)
		return
	}
	c.runs.Put(s.run.ID, s, size)
}
