package store

import (
	"context"
	"slices"
	"time"

	"github.com/interlude-go/interlude/internal/procid"
)

// Local is a store whose nodes all run on one machine, for instance because it is a file. They
// share the machine's adjustable clock and its disk: when the disk is full, no node can renew its
// lease or take over runs. So an expired lease proves nothing: nodes judge each other by
// observation, and call ExpireSilent instead of Registry.Expire.
type Local interface {
	// ExpireSilent removes the given nodes that have not renewed their lease since they were read:
	// Node.Until equals the stored value. A node whose Until is zero is always removed. Otherwise
	// it works like Registry.Expire, without comparing leases with now.
	ExpireSilent(ctx context.Context, now time.Time, nodes []Node) ([]Node, error)
}

// IsSilent reports whether ExpireSilent removes a registered node, given the nodes that it is
// called with.
func IsSilent(registered Node, given []Node) bool {
	return slices.ContainsFunc(given, func(n Node) bool {
		return n.ID == registered.ID && (n.Until.IsZero() || n.Until.Equal(registered.Until))
	})
}

// MayLive reports whether the node's process may be alive: it is running on this machine, or its
// lease has not ended and this process cannot check it (another machine, or a system that cannot
// identify processes).
func (n *Node) MayLive(now time.Time) bool {
	alive := procid.Alive(n.Identity)
	return alive == procid.Living || alive == procid.Unknown && n.Until.After(now)
}
