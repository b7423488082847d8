package node

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/interlude-go/interlude/internal/procid"
	"github.com/interlude-go/interlude/store"
)

// OwnLease records this node's lease and its renewals, in readings of the monotonic clock
// (MonotonicNow).
type OwnLease struct {
	length time.Duration

	mu      sync.Mutex
	renewed time.Time // guarded by mu; the request of the last renewal
	steady  time.Time // guarded by mu; since then renewals were at most two thirds of the lease apart
}

// NewOwnLease returns the lease of a node that joined at that time.
func NewOwnLease(length time.Duration, joined time.Time) *OwnLease {
	return &OwnLease{length: length, renewed: joined, steady: joined}
}

// Renew records a renewal requested at that time.
func (l *OwnLease) Renew(asked time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if asked.Sub(l.renewed) > l.length*2/3 {
		l.steady = asked
	}
	l.renewed = asked
}

// Left returns the rest of the lease, negative when it is over.
func (l *OwnLease) Left(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.length - now.Sub(l.renewed)
}

// Outlasts reports whether another node, which has not renewed its lease since that time, is
// silent: since then this node has renewed its own lease steadily, for longer than either lease. A
// pause restarts the time, since its cause may have affected the other node, too.
func (l *OwnLease) Outlasts(since time.Time, lease time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if since.Before(l.steady) {
		since = l.steady
	}
	return l.renewed.Sub(since) > max(lease, l.length)
}

// leaseWatch judges other nodes' leases on a store.Local. There an expired lease does not prove
// that the node is dead: the clock may have been set, or no node could write.
type leaseWatch struct {
	own  *OwnLease // nil: the observer is no node
	seen map[string]sighting
}

type sighting struct {
	until   time.Time // the lease's end, as last read
	since   time.Time // when this end was read first, by MonotonicNow
	renewed bool      // a different end was read before
}

// observe records the leases of the registered nodes.
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

// gone reports whether a node whose process is not known to be dead must be removed: its lease has
// expired, and neither its process nor an observed renewal shows that it lives; or it is silent
// (Outlasts).
func (w *leaseWatch) gone(n store.Node, expired bool) bool {
	s := w.seen[n.ID]
	lives := s.renewed || n.Identity != procid.Self() && procid.Alive(n.Identity) == procid.Living
	return expired && !lives || w.own != nil && w.own.Outlasts(s.since, n.Lease)
}

// Outage is a time in which a node cannot renew its lease. On a store.Local its turns continue
// after the lease has expired while others cannot renew theirs either: then no node can take over.
type Outage struct {
	OthersAtStart map[string]time.Time // the ends of the others' leases; nil: unknown
	unchanged     time.Time            // the last time at which they were read, and were the same
	shared        bool                 // they were the same after this node's lease was over
	otherRenewed  time.Time            // when this node noticed another one's renewal
}

// EndsTurns reports whether the node must interrupt its turns: its lease is over, and another node may
// take over. After a shared outage, no node does so for a whole lease after the first renewal of any;
// this node has half of that time to renew its lease. others is nil if the leases could not be read.
func (o *Outage) EndsTurns(others map[string]time.Time, now time.Time, over bool, lease time.Duration) bool {
	switch {
	case o.OthersAtStart == nil:
		return over
	case others == nil:
		return over && now.Sub(o.unchanged) >= lease/2
	case maps.EqualFunc(o.OthersAtStart, others, time.Time.Equal):
		o.unchanged, o.shared = now, o.shared || over
		return false
	case o.otherRenewed.IsZero():
		o.otherRenewed = now
	}
	return over && (!o.shared || now.Sub(o.otherRenewed) >= lease/2)
}

// OtherLeases returns the ends of the other nodes' leases; nil if they cannot be read, the store is no
// store.Local, or this node is not registered.
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
