package lifecycle

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/interlude-go/interlude/internal/procid"
	"github.com/interlude-go/interlude/store"
)

// ownLease records how long this node's lease is and when the node renewed it. Its times are
// readings of the monotonic clock (monotonicNow).
type ownLease struct {
	length time.Duration

	mu      sync.Mutex
	renewed time.Time // guarded by mu; when the store was asked for the last renewal
	steady  time.Time // guarded by mu; since then no two renewals were further apart than two thirds of the lease
}

func newOwnLease(length time.Duration, joined time.Time) *ownLease {
	return &ownLease{length: length, renewed: joined, steady: joined}
}

// renew notes a renewal that the store was asked for at that time.
func (l *ownLease) renew(asked time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if asked.Sub(l.renewed) > l.length*2/3 {
		l.steady = asked
	}
	l.renewed = asked
}

// left is how much of the lease is left, negative when it is over.
func (l *ownLease) left(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.length - now.Sub(l.renewed)
}

// outlasts reports whether another node is silent that has not renewed its lease since that time.
// It is silent if this node has renewed its own lease without a pause since then, for longer than
// either lease. The time before a pause does not count: what kept this node from the store may have
// kept the other one from it, too.
func (l *ownLease) outlasts(since time.Time, lease time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if since.Before(l.steady) {
		since = l.steady
	}
	return l.renewed.Sub(since) > max(lease, l.length)
}

// leaseWatch judges the leases of other nodes on a store.Local. There a lease that is over by the
// clock is not proof enough: somebody may have set the clock, or no node could write. A node is
// gone in three cases: its process is dead; its lease is over, and neither its process nor a
// renewal shows that it lives; or it did not renew its lease for a whole lease in which the
// observer did (J9).
type leaseWatch struct {
	own  *ownLease // nil: the observer is no node, and knows of no outage
	seen map[string]sighting
}

// sighting is what was seen of a node's lease.
type sighting struct {
	until   time.Time // its end, as it was read last
	since   time.Time // when that was read first, by monotonicNow
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
// that was observed shows that it lives. A node that lives is gone only if it is silent (outlasts).
func (w *leaseWatch) gone(n store.Node, over bool) bool {
	s := w.seen[n.ID]
	lives := s.renewed || n.Identity != procid.Self() && procid.Alive(n.Identity) == procid.Living
	return over && !lives || w.own != nil && w.own.outlasts(s.since, n.Lease)
}

// outage is a time in which a node cannot renew its lease. On a store.Local the node's turns go on
// after the lease is over, as long as the others cannot renew theirs either: then nobody can take
// over.
type outage struct {
	othersAtStart map[string]time.Time // the ends of the others' leases when it began; nil: not known
	shared        bool                 // after this node's lease was over, the others' were still as at the start
	otherRenewed  time.Time            // when this node noticed that another one has renewed its lease
}

// endsTurns reports whether the node must interrupt its turns, since its lease is over and another
// node may take over. In a shared outage, no other node takes over until a whole lease has passed
// since the first of them renewed its own. So this node has half of that time to renew its lease
// before it gives up its turns.
func (o *outage) endsTurns(others map[string]time.Time, now time.Time, lease time.Duration) bool {
	switch {
	case o.othersAtStart == nil || others == nil:
		return true
	case maps.EqualFunc(o.othersAtStart, others, time.Time.Equal):
		o.shared = true
		return false
	case o.otherRenewed.IsZero():
		o.otherRenewed = now
	}
	return !o.shared || now.Sub(o.otherRenewed) >= lease/2
}

// otherLeases returns the ends of the other nodes' leases. It returns nil unless the store is a
// store.Local and can be read, and this node is still registered.
func (n *node) otherLeases(ctx context.Context) map[string]time.Time {
	if _, local := n.store.(store.Local); !local {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Lease/12)
	defer cancel()
	nodes, err := n.store.Nodes(ctx)
	if err != nil {
		return nil
	}
	leases := make(map[string]time.Time, len(nodes))
	for _, other := range nodes {
		leases[other.ID] = other.Until
	}
	if _, registered := leases[n.id]; !registered {
		return nil
	}
	delete(leases, n.id)
	return leases
}
