//go:build search

package notify_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// L4: each notice arrives, at least once, with its id, in the order of its run, on each store;
// three nodes are killed while they send, and the receivers refuse, redirect, hang and cut the
// line.
func TestL4NoticesArriveThoughSendersAreKilled(t *testing.T) {
	for _, name := range []string{"sqlite", "postgresql"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits for leases most of the time
			database := filepath.Join(t.TempDir(), "runs.db")
			if name == "postgresql" {
				database = pgtest.DSN(t)
			}
			require.Empty(t, drill(t, node{Store: database}, *kills))
		})
	}
}

// L4: a node that keeps one promise less is found out by the same drill.
func TestL4BrokenSendersAreFound(t *testing.T) {
	for _, c := range []struct{ promise, want string }{
		{noOrder, "was sent before"}, {acknowledgesFirst, "was never accepted"},
	} {
		t.Run(c.promise, func(t *testing.T) {
			t.Parallel()
			wrong := drill(t, node{Store: filepath.Join(t.TempDir(), "runs.db"), Break: c.promise}, 0)
			require.Contains(t, strings.Join(wrong, "\n"), c.want)
		})
	}
}
