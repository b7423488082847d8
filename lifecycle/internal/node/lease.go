package node

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/interlude-go/interlude/internal/procid"
	"github.com/interlude-go/interlude/store"
)

// OwnLease records how long this node's lease is and when the node renewed it. Its times are
// readings of the monotonic clock (MonotonicNow).
type OwnLease struct {
	length time.Duration

	mu      sync.Mutex
	renewed time.Time // guarded by mu; when the store was asked for the last renewal
	steady  time.Time // guarded by mu; since then renewals were at most two thirds of the lease apart
}

// NewOwnLease returns the lease of a node that has joined at that time.
func NewOwnLease(length time.Duration, joined time.Time) *OwnLease {
	return &OwnLease{length: length, renewed: joined, steady: joined}
}

// Renew notes a renewal that the store was asked for at that time.
func (l *OwnLease) Renew(asked time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if asked.Sub(l.renewed) > l.length*2/3 {
		l.steady = asked
	}
	l.renewed = asked
}

// Left is how much of the lease is left, negative when it is over.
func (l *OwnLease) Left(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.length - now.Sub(l.renewed)
}

// Outlasts reports whether another node is silent that has not renewed its lease since that time.
// It is silent if this node has renewed its own lease without a pause since then, for longer than
// either lease. The time before a pause does not count: what kept this node from the store may have
// kept the other one from it, too.
func (l *OwnLease) Outlasts(since time.Time, lease time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if since.Before(l.steady) {
		since = l.steady
	}
	return l.renewed.Sub(since) > max(lease, l.length)
}

// leaseWatch judges the leases of other nodes on a store.Local. There an expired lease is not
// sufficient proof: the clock may have been set, or no node could write. A node is gone in three
// cases: its process is dead; its lease has expired, and neither its process nor a renewal shows
// that it lives; or it did not renew its lease for a whole lease in which the observer did.
type leaseWatch struct {
	own  *OwnLease // nil: the observer is no node, and knows of no outage
	seen map[string]sighting
}

// sighting is an observation of a node's lease.
type sighting struct {
	until   time.Time // its end, as it was read last
	since   time.Time // when that was read first, by MonotonicNow
	renewed bool      // it had another end before
}

// observe notes the leases of the nodes that are registered now.
func (w *leaseWatch) observe(nodes []store.Node, now time.Time) {
	seen := make(map[string]sighting, len(nodes))
	for _, n := range nodes {
		s, known := w.seen[n.ID]
		if !known || !s.until.Equal(n.Until) {
			s = sighting{until: n.Until, since: now, renewed: known}
		}
		seen[n.ID] = s
	}
	w.seen = seen
}

// gone reports whether a node is to be removed whose process is not known to be dead. Over says
// that its lease has run out by the clock. Then the node is gone, unless its process or a renewal
// that was observed shows that it lives. A node that lives is gone only if it is silent (Outlasts).
func (w *leaseWatch) gone(n store.Node, over bool) bool {
	s := w.seen[n.ID]
	lives := s.renewed || n.Identity != procid.Self() && procid.Alive(n.Identity) == procid.Living
	return over && !lives || w.own != nil && w.own.Outlasts(s.since, n.Lease)
}

// Outage is a time in which a node cannot renew its lease. On a store.Local the node's turns
// continue after the lease has expired, as long as the others cannot renew theirs either: then no
// node can take over.
type Outage struct {
	OthersAtStart map[string]time.Time // the ends of the others' leases when it began; nil: not known
	shared        bool                 // after this node's lease was over, the others' were still as at the start
	otherRenewed  time.Time            // when this node noticed that another one has renewed its lease
}

// EndsTurns reports whether the node must interrupt its turns, since its lease is over and another
// node may take over. In a shared outage, no other node takes over until a whole lease has passed
// since the first of them renewed its own. So this node has half of that time to renew its lease
// before it gives up its turns.
func (o *Outage) EndsTurns(others map[string]time.Time, now time.Time, lease time.Duration) bool {
	switch {
	case o.OthersAtStart == nil || others == nil:
		return true
	case maps.EqualFunc(o.OthersAtStart, others, time.Time.Equal):
		o.shared = true
		return false
	case o.otherRenewed.IsZero():
		o.otherRenewed = now
	}
	return !o.shared || now.Sub(o.otherRenewed) >= lease/2
}

// OtherLeases returns the ends of the leases of the nodes other than this one. It returns nil
// unless the store is a store.Local and can be read, and this node is still registered.
func (p *Process) OtherLeases(ctx context.Context, self string, limit time.Duration) map[string]time.Time {
	if _, local := p.Store.(store.Local); !local {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	nodes, err := p.Store.Nodes(ctx)
	if err != nil {
		return nil
	}
	leases := make(map[string]time.Time, len(nodes))
	for _, other := range nodes {
		leases[other.ID] = other.Until
	}
	if _, registered := leases[self]; !registered {
		return nil
	}
	delete(leases, self)
	return leases
}
