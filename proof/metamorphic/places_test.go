package metamorphic_test

import (
	"crypto/rand"
	"flag"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
	"github.com/interlude-go/interlude/store/sqlite"
)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "45"); err != nil { // takes half a minute; the command line may ask for more
		panic(err)
	}
	pgtest.Main(m)
}

// place is a store under test. It is opened anew in each bubble, once for the node and once for the
// front end, and each log leaves it empty.
type place struct {
	name string
	open func(t *testing.T) (node, second keeper, shut func())
}

// silent hides the optional abilities of a store: its hints, so that all stores are read equally
// often, and its clock, which is not the bubble's.
type silent struct {
	store.Store
	store.Surveyor
}

// keeper has the methods that every store of this project has.
type keeper interface {
	store.Store
	store.Surveyor
}

func places(t *testing.T) []place {
	t.Helper()
	path := filepath.Join(t.TempDir(), "runs.db")
	dsn, _ := pgtest.Schema(t)
	dsn = pgtest.With(dsn, "synchronous_commit=off")
	schema := "metamorphic_" + rand.Text()
	both := func(open func(t *testing.T) keeper) func(t *testing.T) (node, second keeper, shut func()) {
		return func(t *testing.T) (keeper, keeper, func()) {
			t.Helper()
			node, second := open(t), open(t)
			return node, second, func() {
				require.NoError(t, node.Close())
				require.NoError(t, second.Close())
			}
		}
	}
	return []place{
		{"memory", func(*testing.T) (keeper, keeper, func()) { // there is one handle in one process
			s := memory.New()
			return s, s, func() {}
		}},
		{"sqlite", both(func(t *testing.T) keeper {
			t.Helper()
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{Synchronous: sqlite.Normal, WatchInterval: -1})
			require.NoError(t, err)
			return s
		})},
		{"postgres", both(func(t *testing.T) keeper {
			t.Helper()
			s, err := postgres.Open(t.Context(), dsn, postgres.Options{Schema: schema, NoListen: true, NoNotify: true})
			require.NoError(t, err)
			return s
		})},
	}
}
