// Package stores creates the stores for proofs that are about every store. None of them waits for a
// disk, because surviving a crash is the subject of other proofs.
package stores

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
	"github.com/interlude-go/interlude/store/sqlite"
)

// Kinds are the kinds of stores.
var Kinds = []string{"memory", "sqlite", "postgres"}

// New creates a store of the kind. The function that it returns opens a handle on it, as each of
// the processes does that share a store. In memory there is one process, and one handle.
func New(tb testing.TB, kind string, o cast.StoreOptions) (open func(testing.TB) store.Store) {
	tb.Helper()
	var name string
	switch kind {
	case "memory":
		s := memory.New()
		return func(testing.TB) store.Store { return s }
	case "sqlite":
		name = filepath.Join(tb.TempDir(), "runs.db")
		o.SQLite.Synchronous = sqlite.Normal
	case "postgres":
		name, o.Postgres.Schema = pgtest.Schema(tb)
		name = pgtest.With(name, "synchronous_commit=off")
	}
	return func(tb testing.TB) store.Store {
		tb.Helper()
		s, err := o.Open(tb.Context(), name)
		require.NoError(tb, err)
		return s
	}
}
