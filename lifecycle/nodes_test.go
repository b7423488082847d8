package lifecycle

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// E6: an operator sees the registered nodes, with their engines and leases, and departed ones as
// long as parked runs name them.
func TestE6NodesAreListedUntilNothingNamesThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		lc, stop := serve(t, Config{Store: s, Engine: collector(), Lease: time.Minute})
		submit(t, lc, "r")
		synctest.Wait()
		nodes, err := lc.Nodes(t.Context())
		require.NoError(t, err)
		require.Len(t, nodes, 1)
		self := nodes[0]
		require.Equal(t, []string{"default"}, self.Engines)
		require.Equal(t, time.Minute, self.Lease)
		require.True(t, self.Until.After(time.Now()))
		require.False(t, self.Dead)
		require.Zero(t, self.DepartedAt)
		stop()

		client := clientOf(t, s)
		at := time.Now()
		_, err = s.Expire(t.Context(), at)
		require.NoError(t, err)
		nodes, err = client.Nodes(t.Context())
		require.NoError(t, err)
		require.Len(t, nodes, 1)
		require.Equal(t, self.ID, nodes[0].ID)
		require.False(t, nodes[0].DepartedAt.IsZero())
		require.Zero(t, nodes[0].Until)

		require.NoError(t, client.Cancel(t.Context(), "r", "enough"))
		_, err = s.Expire(t.Context(), time.Now())
		require.NoError(t, err)
		nodes, err = client.Nodes(t.Context())
		require.NoError(t, err)
		require.Empty(t, nodes)
	})
}
