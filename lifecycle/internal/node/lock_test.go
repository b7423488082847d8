package node

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A lock that is lent can be revoked; then whoever lent it does not hold it any more.
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
