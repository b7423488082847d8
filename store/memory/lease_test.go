package memory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// The memory store judges leases by the caller's clock, so a test can show the exact moment at
// which one ends.
func TestExpireSparesLeaseAtItsLastMoment(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := memory.New()
	require.NoError(t, s.Join(t.Context(), store.Node{ID: "n", Lease: time.Minute}, now))
	nodes, err := s.Nodes(t.Context())
	require.NoError(t, err)
	require.Equal(t, now.Add(time.Minute), nodes[0].Until)

	_, err = s.Renew(t.Context(), "n", now.Add(30*time.Second))
	require.NoError(t, err)
	gone, err := s.Expire(t.Context(), now.Add(90*time.Second))
	require.NoError(t, err)
	require.Empty(t, gone, "at its last moment it is still held")
	gone, err = s.Expire(t.Context(), now.Add(90*time.Second+time.Microsecond))
	require.NoError(t, err)
	require.Len(t, gone, 1)
}
