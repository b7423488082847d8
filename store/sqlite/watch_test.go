package sqlite_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// Section F, F8: who watches is told of the commits of other processes, also of those that came before the first look.
func TestCommitsOfOthersAreNoticed(t *testing.T) {
	path := made(t)
	watching, err := sqlite.Open(t.Context(), path, sqlite.Options{WatchInterval: time.Millisecond})
	require.NoError(t, err)
	defer watching.Close()
	other, err := sqlite.Open(t.Context(), path, quiet)
	require.NoError(t, err)
	defer other.Close()
	hints := make(chan store.Hint, 1)
	stop := watching.Watch(func(h store.Hint) {
		select {
		case hints <- h:
		default:
		}
	})
	defer stop()
	next := newRun("r", 10)
	for range 5 {
		put(t, other, next)
		for heard := false; !heard; {
			select {
			case h := <-hints:
				require.Empty(t, h.RunID, "anything may have changed")
				r, err := watching.Run(t.Context(), "r")
				require.NoError(t, err)
				heard = r.Version == next.Run.Version
			case <-time.After(10 * time.Second):
				require.FailNow(t, "no hint came")
			}
		}
		next = report(next.Run)
	}
	stop()
	put(t, other, next)
}
