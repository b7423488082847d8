package pglocal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A killed server leaves its shared memory to the system. A restart and Stop release it.
func TestStopReleasesSharedMemory(t *testing.T) {
	segment := func(s *Server) string { // the second number of the seventh line
		text, err := os.ReadFile(filepath.Join(s.home.data(), "postmaster.pid"))
		require.NoError(t, err)
		return strings.Fields(strings.Split(string(text), "\n")[6])[1]
	}
	segments := func() (ids []string) {
		text, err := os.ReadFile("/proc/sysvipc/shm")
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			ids = append(ids, strings.Fields(line)[1])
		}
		return ids
	}
	s := start(t, Options{})
	first := segment(s)
	require.Contains(t, segments(), first)
	require.NoError(t, s.Kill())
	require.Contains(t, segments(), first)
	require.NoError(t, s.Resume(t.Context()))
	second := segment(s)
	require.NotContains(t, segments(), first)
	require.NoError(t, s.Kill())
	require.Contains(t, segments(), second)
	require.NoError(t, s.Stop())
	require.NotContains(t, segments(), second)
}
