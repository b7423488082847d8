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
	if err := flag.Set("rapid.checks", "45"); err != nil { // half a minute; the command line may say more
		panic(err)
	}
	pgtest.Main(m)
}

// place is where runs are kept. It is opened in each bubble anew, as the node and as the front end
// have it, and each log leaves it empty.
type place struct {
	name string
	open func(t *testing.T) (node, second keeper, shut func())
}

// silent hides what a store is besides: its hints, so that all stores are looked at as often, and
// its clock, which goes its own way.
type silent struct {
	store.Store
	store.Surveyor
}

// keeper is what each store of this project is.
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
		{"memory", func(*testing.T) (keeper, keeper, func()) { // one process: there is one handle
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
