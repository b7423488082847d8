package simulate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/proof/simulate"
)

// A failing seed is only useful if it fails again: the same seed gives the same world, to the last
// byte of the last event.
func TestASeedIsAlwaysTheSameWorld(t *testing.T) {
	different := make(map[uint64]bool)
	for i := range repeated {
		seed := *from + uint64(i)
		first := world(t, seed, simulate.Options{Trace: true})
		again := world(t, seed, simulate.Options{Trace: true})
		require.Equal(t, first.Trace, again.Trace, "seed %d", seed)
		require.Equal(t, first.Hash, again.Hash, "seed %d", seed)
		require.Equal(t, first.Sightings, again.Sightings, "seed %d", seed)
		different[first.Hash] = true
	}
	require.Len(t, different, repeated, "other seeds are other worlds")
}
