//go:build unix

package pglocal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A standby follows its primary, and continues without it.
func TestPromoteKeepsCommits(t *testing.T) {
	primary := start(t, Options{})
	conn := connect(t, primary.DSN(""))
	standby, err := primary.Standby(t.Context(), Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, standby.Stop()) })
	_, err = conn.Exec(t.Context(), "CREATE TABLE note AS SELECT 'followed' AS text")
	require.NoError(t, err)
	there := connect(t, standby.DSN(""))
	var text string
	require.Eventually(t, func() bool {
		return there.QueryRow(t.Context(), "SELECT text FROM note").Scan(&text) == nil
	}, 30*time.Second, 10*time.Millisecond)
	require.Equal(t, "followed", text)
	require.NoError(t, primary.Kill())
	require.NoError(t, standby.Promote(t.Context()))
	_, err = there.Exec(t.Context(), "INSERT INTO note VALUES ('alone')")
	require.NoError(t, err)
}
