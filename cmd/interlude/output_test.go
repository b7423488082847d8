package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// If the output cannot be printed, for example on a full disk, the program fails.
func TestALostOutputIsAFailure(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Log("this system has no /dev/full: using a closed file instead")
		full, err = os.CreateTemp(t.TempDir(), "")
		require.NoError(t, err)
		require.NoError(t, full.Close())
	} else {
		defer full.Close()
	}
	s := newScreen(full, full, false)
	s.line(plain, "the answer")
	require.Error(t, s.to.err)
}
