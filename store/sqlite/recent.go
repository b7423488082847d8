package sqlite

import (
	"sync"

	"github.com/interlude-go/interlude/store"
)

// Bounds of recentCommits.
const (
	keptRecent = 2048    // commits
	maxRecent  = 4 << 10 // bytes of the events of one
)

// recentCommit is a commit that was noted for the feeds.
type recentCommit struct {
	position int64
	change

	id     string
	events []store.Event // never changed
}

// recentCommits are the last commits that this store has noted, with their events: a reader of a feed
// in the same process, which is seldom far behind, need not read them from the file. What the feed has
// is always read there. No position is used twice, so that a commit found here by its position is
// the one that the file has.
type recentCommits struct {
	mu  sync.Mutex
	all []recentCommit // guarded by mu; by the position modulo keptRecent
}

// add adds what a transaction has noted, once it is stored.
func (r *recentCommits) add(noted []recentCommit) {
	if len(noted) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = make([]recentCommit, keptRecent)
	}
	for _, c := range noted {
		size := 0
		for _, e := range c.events {
			size += len(e.Body)
		}
		if size <= maxRecent {
			r.all[c.position%keptRecent] = c
		}
	}
}

// find returns the id of the commit's run, and the events; nil if they are not kept.
func (r *recentCommits) find(n notedCommit) (id string, events []store.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		return "", nil
	}
	c := &r.all[n.position%keptRecent]
	if c.position != n.position || c.change != n.change {
		return "", nil
	}
	return c.id, c.events
}
