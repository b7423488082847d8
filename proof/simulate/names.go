package simulate

import (
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/store"
)

// names gives each node a name that depends only on the seed. The library makes random ids for
// nodes, and stores list nodes by id, so that the ids would decide an order.
type names struct {
	given map[string]string // by the library's id
	ids   map[string]string // by name
	count map[string]int    // by host
}

func newNames() names {
	return names{given: make(map[string]string), ids: make(map[string]string), count: make(map[string]int)}
}

// name returns the node's name, or the text itself if it is not a node's id.
func (n *names) name(id string) string {
	if name, ok := n.given[id]; ok {
		return name
	}
	return id
}

func (n *names) id(name string) string {
	if id, ok := n.ids[name]; ok {
		return id
	}
	return name
}

// join names a new node of the host.
func (n *names) join(host, id string) string {
	n.count[host]++
	name := fmt.Sprintf("%s%d", host, n.count[host])
	n.given[id], n.ids[name] = name, id
	return name
}

// named returns the batch with names in place of ids. It is a copy: the caller may use its own
// batch again once the call has returned.
func (n *names) named(batch []store.Commit) []store.Commit {
	batch = slices.Clone(batch)
	for i := range batch {
		c := &batch[i]
		c.Run.Owner = n.name(c.Run.Owner)
		if c.Fence != nil {
			c.Fence = &store.Fence{Node: n.name(c.Fence.Node), Epoch: c.Fence.Epoch}
		}
	}
	return batch
}

func (n *names) run(r store.Run) store.Run {
	r.Owner = n.id(r.Owner)
	return r
}

func (n *names) runs(all []store.Run) []store.Run {
	for i := range all {
		all[i].Owner = n.id(all[i].Owner)
	}
	return all
}
