package lifecycle

import (
	"context"
	"time"

	"github.com/interlude-go/interlude/internal/procid"
	"github.com/interlude-go/interlude/store"
)

// NodeStatus is a node, as the store knows it: one that is registered, or what is left of one that
// has gone.
type NodeStatus struct {
	ID string
	// Engines are the names of the engines that it has; nil if it says nothing of them, and for one
	// that has gone.
	Engines []string
	// Lease is the length of its lease, and Until when the lease ends unless the node renews it, by
	// the store's clock. Both are zero for a node that has gone.
	Lease time.Duration
	Until time.Time
	// Process is the number of its process; 0 if that is one of another machine, or not known. Dead
	// says that this process has ended: the next pass of recovery removes the node.
	Process int
	Dead    bool
	// DepartedAt is when the node was removed from the registry; zero for one that is registered.
	// Nodes that have gone are listed as long as parked runs name them.
	DepartedAt time.Time
}

// Nodes lists the registered nodes by id, and after them those that have gone and parked runs still
// name, for operators. Stats has their number alone. Authorize is asked as for Stats.
func (c *Client) Nodes(ctx context.Context) ([]NodeStatus, error) {
	if err := c.check(ctx); err != nil {
		return nil, err
	}
	if err := c.allow(ctx, ActionStats, nil, nil); err != nil {
		return nil, err
	}
	nodes, err := c.proc.Store.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	departures, err := c.proc.Store.Departures(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]NodeStatus, 0, len(nodes)+len(departures))
	for i := range nodes {
		all = append(all, statusOf(&nodes[i]))
	}
	for _, d := range departures {
		all = append(all, NodeStatus{ID: d.ID, DepartedAt: d.At})
	}
	return all, nil
}

func statusOf(n *store.Node) NodeStatus {
	s := NodeStatus{ID: n.ID, Engines: n.Engines, Lease: n.Lease, Until: n.Until}
	if pid, ok := procid.PID(n.Identity); ok {
		s.Process, s.Dead = pid, procid.Alive(n.Identity) == procid.Dead
	}
	return s
}

// Recovery counts what a recovery did.
type Recovery struct {
	Nodes    int // processes found dead
	Requeued int // interrupted turns that will be repeated
	Held     int // runs that are held from now on
	Failed   int // runs whose context is lost
}

// Recover settles what dead processes left. Serve does it by itself, at its start and
// whenever a lease runs out; it may be called at any time, twice or by several processes at once,
// with the same result as once. On a store.Local, a process that lives but is silent is taken
// over by Serve alone, which observes it for a lease. If this process serves, its own node lives,
// whatever the clock says.
//
// Parked runs of resumable engines belong to no process. They go on when their question is settled,
// and nothing is written for them, however many there are; so they are not counted. Only those
// whose session the engine refuses fail: Recover asks the engines that can tell (engine.Checker)
// about each of them, and Serve does so slowly beside its work.
func (c *Client) Recover(ctx context.Context) (Recovery, error) {
	if err := c.check(ctx); err != nil {
		return Recovery{}, err
	}
	self := ""
	if own := c.ownNode.Load(); own != nil {
		self = *own
	}
	done, err := c.proc.Recover(ctx, self)
	return Recovery(done), err
}
