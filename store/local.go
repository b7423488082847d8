package store

import (
	"context"
	"slices"
	"time"
)

// Local is implemented by a store all of whose processes run on one machine, such as a file. They
// share the machine's clock, which anybody may set, and its disk: when it is full, no node can renew
// its lease, and none can take over the runs of another. So the end of a lease by the clock alone
// proves nothing, and their nodes judge each other by what they have observed. They call
// ExpireSilent in the place of Registry.Expire.
type Local interface {
	// ExpireSilent removes those of the given nodes that have not renewed their lease since they
	// were read: Node.Until is still what the store has. A node whose Until is zero is removed in
	// any case. Otherwise it is like Registry.Expire, but judges no lease by now.
	ExpireSilent(ctx context.Context, now time.Time, nodes []Node) ([]Node, error)
}

// IsSilent reports whether ExpireSilent removes a registered node, given the nodes that it is called
// with.
func IsSilent(registered Node, given []Node) bool {
	return slices.ContainsFunc(given, func(n Node) bool {
		return n.ID == registered.ID && (n.Until.IsZero() || n.Until.Equal(registered.Until))
	})
}
