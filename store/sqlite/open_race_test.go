package sqlite

import (
	"context"
	"errors"
	"fmt"
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

// A host that looks at a file while another one creates it sees all of the schema or none of it, so it
// never takes the file for another program's.
func TestOpenDoesNotSeeHalfOfANewFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	creator, err := dial(path, "", []string{"journal_mode(WAL)", "busy_timeout(60000)"})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	created := make(chan error, 1)
	go func() {
		var err error
		for err == nil && ctx.Err() == nil {
			err = creator.run(fmt.Sprintf("BEGIN IMMEDIATE; CREATE TABLE x (y); PRAGMA user_version = %d; "+
				"PRAGMA application_id = %d; COMMIT", len(migrations), applicationID))
			if err == nil {
				err = creator.run("BEGIN IMMEDIATE; DROP TABLE x; PRAGMA user_version = 0; " +
					"PRAGMA application_id = 0; COMMIT")
			}
		}
		created <- err
	}()
	for range 300 {
		if _, err = inspectSchema(path); err != nil && !errors.Is(err, ErrSchema) {
			break // other than that tables are missing
		}
	}
	stop()
	require.NoError(t, <-created)
	require.NoError(t, creator.close())
	if err != nil {
		require.ErrorIs(t, err, ErrSchema)
	}
}
