package cache

import (
	"sync"

	"github.com/interlude-go/interlude/store"
)

// Bounds of a generation of Commits.
const (
	maxCommits      = 1024
	maxCommitsBytes = 2 << 20
)

// Commits keeps the events of the commits that a store recently wrote, for a feed reader in the
// same process, which is seldom far behind. It has two generations, like Runs. It is safe for
// concurrent use, and the zero value is empty.
//
// A store adds a commit under a unique key after storing it.
type Commits[K comparable] struct {
	mu         sync.Mutex // guards the fields below
	young, old map[K]CommitEvents
	bytes      int // added to young
}

// CommitEvents is the events of one commit.
type CommitEvents struct {
	RunID  string
	Events []store.Event // never changed
}

func (c *Commits[K]) Put(key K, commit CommitEvents) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) >= maxCommits || c.bytes >= maxCommitsBytes {
		clear(c.old)
		c.old, c.young, c.bytes = c.young, c.old, 0
	}
	if c.young == nil {
		c.young = make(map[K]CommitEvents)
	}
	c.young[key] = commit
	for _, e := range commit.Events {
		c.bytes += len(e.Body)
	}
}

func (c *Commits[K]) Get(key K) (commit CommitEvents, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if commit, ok = c.young[key]; !ok {
		commit, ok = c.old[key]
	}
	return commit, ok
}

func (c *Commits[K]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old, c.bytes = nil, nil, 0
}
