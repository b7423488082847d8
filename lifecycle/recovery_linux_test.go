package lifecycle

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/procid"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// TestRecoverDoesNotWaitForADeadProcess: E3, if its process ran on this machine and has ended; an
// unknown process is awaited until its lease expires.
func TestRecoverDoesNotWaitForADeadProcess(t *testing.T) {
	child := exec.CommandContext(t.Context(), "sleep", "1000")
	require.NoError(t, child.Start())
	identity, err := procid.Of(child.Process.Pid)
	require.NoError(t, err)
	s := newStore(t)
	now := node.CommitTime(SystemClock{})
	for id, of := range map[string]string{"child": identity, "unknown": "", "this": procid.Self()} {
		require.NoError(t, s.Join(t.Context(), store.Node{ID: id, Identity: of, Lease: time.Hour}, now))
	}
	c := clientOf(t, s)
	done, err := c.Recover(t.Context())
	require.NoError(t, err)
	require.Zero(t, done, "they live, as far as is known")
	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())
	done, err = c.Recover(t.Context())
	require.NoError(t, err)
	require.Equal(t, Recovery{Nodes: 1}, done)
	nodes, err := s.Nodes(t.Context())
	require.NoError(t, err)
	require.Len(t, nodes, 2)
}
