package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// A run whose output cannot be printed, such as on a full disk, does not end as if it had been.
func TestALostOutputIsAFailure(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Log("this system has no /dev/full: a closed file stands in")
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
