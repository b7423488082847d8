package lifecycle

import (
	"context"
	"time"

	"github.com/interlude-go/interlude/internal/procid"
	"github.com/interlude-go/interlude/store"
)

// NodeStatus is the stored state of a registered node, or the tombstone of a departed one.
type NodeStatus struct {
	ID string
	// Engines are the names of the node's engines; nil if unknown or departed.
	Engines []string
	// Lease is the length of its lease, Until its end unless renewed, by the store's clock; zero
	// for a departed node.
	Lease time.Duration
	Until time.Time
	// Process is its process number; 0 if unknown or on another machine. Dead: this process has
	// ended, and the next recovery removes the node.
	Process int
	Dead    bool
	// DepartedAt is when the node left the registry; zero if registered. Departed nodes are listed
	// as long as parked runs name them.
	DepartedAt time.Time
}

// Nodes lists the registered nodes by id, then departed nodes that parked runs still name, for
// operators. Authorize is asked as for Stats.
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

type Recovery struct {
	Nodes    int // processes found dead
	Requeued int // interrupted turns that will be repeated
	Held     int // runs that are held from now on
	Failed   int // runs whose context is lost
}

// Recover settles the runs of dead processes, as Serve does at its start and whenever a lease
// expires. It is idempotent, and safe to call concurrently. On a store.Local, only Serve takes over a
// live but silent process, after observing it for a lease. If this process serves, its own node
// counts as alive.
//
// Parked runs of resumable engines belong to no process. They fail only if the engine, an
// engine.Checker, refuses their session: Recover asks about each, and Serve slowly in the background.
func (c *Client) Recover(ctx context.Context) (Recovery, error) {
	if err := c.check(ctx); err != nil {
		return Recovery{}, err
	}
	self := ""
	if own := c.ownNode.Load(); own != nil {
		self = own.ID()
	}
	done, err := c.proc.Recover(ctx, self)
	return Recovery(done), err
}
