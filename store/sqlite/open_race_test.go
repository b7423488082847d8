package sqlite

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Several hosts may start on a file that does not exist yet. One creates it, and the others wait,
// for a limited time.
func TestOpenWaitsWhileAnotherProcessCreatesTheFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "runs.db")
		creator, err := dial(path, "", nil)
		require.NoError(t, err)
		require.NoError(t, creator.run("BEGIN EXCLUSIVE"))
		wal := []string{"journal_mode(WAL)"}
		begun := time.Now()
		_, err = dialFirst(path, wal, time.Second)
		require.ErrorIs(t, explain(err), ErrBusy)
		require.Equal(t, 1005*time.Millisecond, time.Since(begun))

		type opened struct {
			c   *conn
			err error
		}
		done := make(chan opened, 1)
		go func() {
			c, err := dialFirst(path, wal, time.Second)
			done <- opened{c, err}
		}()
		synctest.Wait() // it was refused, and waits
		require.NoError(t, creator.run("COMMIT"))
		got := <-done
		require.NoError(t, got.err)
		require.NoError(t, got.c.close())
		require.NoError(t, creator.close())
	})
}
