package node

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A lent lock can be revoked; then the lender no longer holds it.
func TestALentCommitLockCanBeRevoked(t *testing.T) {
	var l CommitLock
	require.False(t, l.Revoke(), "nobody has lent it")
	l.Lock()
	require.False(t, l.Revoke(), "it is held, and not lent")
	l.Lend()
	require.False(t, l.TryLock())
	require.True(t, l.Revoke())
	require.False(t, l.Reclaim())
	require.False(t, l.TryLock(), "whoever has revoked the loan holds it")
	l.Unlock()
	l.Lock()
	l.Lend()
	require.True(t, l.Reclaim())
	l.Unlock()
	require.True(t, l.TryLock())
}
