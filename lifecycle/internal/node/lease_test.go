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

// J9: a node ends its turns when it does not know how the others fare, and half a lease after it
// has noticed that others can write again.
func TestJ9AnOutageOfOneNodeEndsItsTurns(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const lease = 10 * time.Second
	others := map[string]time.Time{"b": now}
	for name, o := range map[string]*Outage{"before": {}, "now": {OthersAtStart: map[string]time.Time{}}} {
		require.True(t, o.EndsTurns(map[string]map[string]time.Time{"before": others}[name], now, lease), name)
	}
	o := Outage{OthersAtStart: others}
	require.False(t, o.EndsTurns(map[string]time.Time{"b": now}, now, lease), "nobody can write")
	renewed := map[string]time.Time{"b": now.Add(lease)}
	require.False(t, o.EndsTurns(renewed, now, lease), "it was just noticed")
	require.False(t, o.EndsTurns(renewed, now.Add(lease/2-1), lease))
	require.True(t, o.EndsTurns(renewed, now.Add(lease/2), lease))
	alone := Outage{OthersAtStart: others}
	require.True(t, alone.EndsTurns(renewed, now, lease), "the others could write all the while")
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
