package node

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// J9: a renewal within two thirds of the lease is steady, and a later one is not.
func TestJ9RenewalsAreSteadyUpToTwoThirdsOfALease(t *testing.T) {
	joined := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for late, steady := range map[time.Duration]time.Time{0: joined, time.Nanosecond: joined.Add(2*time.Second + 1)} {
		lease := NewOwnLease(3*time.Second, joined)
		lease.Renew(joined.Add(2*time.Second + late))
		require.Equal(t, steady, lease.steady, late)
	}
}

// J9: after its lease is over, a node ends its turns half a lease after it has noticed that others can
// write again, or after it was last sure that they cannot.
func TestJ9AnOutageOfOneNodeEndsItsTurns(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const lease = 10 * time.Second
	others, renewed := map[string]time.Time{"b": now}, map[string]time.Time{"b": now.Add(lease)}
	same := map[string]time.Time{"b": now}
	unknown := Outage{}
	require.True(t, unknown.EndsTurns(others, now, true, lease), "the others' leases at its start are unknown")
	o := Outage{OthersAtStart: others, unchanged: now}
	require.False(t, o.EndsTurns(same, now, true, lease), "nobody can write")
	require.False(t, o.EndsTurns(renewed, now, true, lease), "it was just noticed")
	require.False(t, o.EndsTurns(renewed, now.Add(lease/2-1), true, lease))
	require.True(t, o.EndsTurns(renewed, now.Add(lease/2), true, lease))
	alone := Outage{OthersAtStart: others, unchanged: now}
	require.False(t, alone.EndsTurns(renewed, now, false, lease), "its lease is not over")
	require.True(t, alone.EndsTurns(renewed, now, true, lease), "the others could write all the while")
	slow := Outage{OthersAtStart: others, unchanged: now}
	require.False(t, slow.EndsTurns(nil, now.Add(lease/2-1), true, lease), "one reading that fails")
	require.True(t, slow.EndsTurns(nil, now.Add(lease/2), true, lease))
	require.False(t, slow.EndsTurns(same, now.Add(lease), true, lease))
	require.False(t, slow.EndsTurns(nil, now.Add(lease*3/2-1), true, lease))
	require.True(t, slow.EndsTurns(nil, now.Add(lease*3/2), true, lease))
}

// slowNodes is a store.Local that keeps the deadline with which it was asked for the nodes.
type slowNodes struct {
	*memory.Store
	left time.Duration
}

func (s *slowNodes) Nodes(ctx context.Context) ([]store.Node, error) {
	deadline, _ := ctx.Deadline()
	s.left = time.Until(deadline)
	return s.Store.Nodes(ctx)
}

// J9: a node whose store hangs waits a small part of its lease to hear of the others.
func TestJ9OtherLeasesAreAskedForInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowNodes{Store: memory.New()}
		require.Implements(t, (*store.Local)(nil), s)
		p := &Process{Store: s}
		require.Nil(t, p.OtherLeases(t.Context(), "a", 5*time.Second), "it is not registered")
		require.Equal(t, 5*time.Second, s.left)
	})
}

// J9: a node is silent when this one has renewed its own lease for longer than either lease, and
// not just as long.
func TestJ9SilenceIsLongerThanALease(t *testing.T) {
	joined := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	lease := NewOwnLease(3*time.Second, joined)
	for i := range 3 {
		lease.Renew(joined.Add(time.Duration(i+1) * time.Second))
	}
	require.False(t, lease.Outlasts(joined, time.Second))
	lease.Renew(joined.Add(3*time.Second + 1))
	require.True(t, lease.Outlasts(joined, time.Second))
	require.False(t, lease.Outlasts(joined, 4*time.Second))
}
