package contract

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// G1: the contract that the program is built with is sound.
func TestEmbeddedContractIsSound(t *testing.T) {
	t.Parallel()
	l, err := Parse(Source())
	require.NoError(t, err)
	require.Equal(t, l.Version, Version())
}
