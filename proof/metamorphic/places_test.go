package metamorphic_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/proof/stores"
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

// place is a store under test. It is reopened in each bubble, once for the node and once for the
// front end, and each log leaves it empty.
type place struct {
	name string
	open func(t *testing.T) (node, second store.Store, shut func())
}

// silent hides the optional abilities of a store: its hints, so that all stores are read equally
// often, and its clock, which is not the bubble's.
type silent struct {
	store.Store
}

// inMemory is the store that the others are compared with. There is one handle in one process.
var inMemory = place{"memory", func(*testing.T) (node, second store.Store, shut func()) {
	s := memory.New()
	return s, s, func() {}
}}

func places(t *testing.T) []place {
	t.Helper()
	all := []place{inMemory}
	for _, kind := range stores.Kinds[1:] {
		open := stores.New(t, kind, cast.StoreOptions{SQLite: sqlite.Options{WatchInterval: -1},
			Postgres: postgres.Options{NoListen: true, NoNotify: true}})
		all = append(all, place{kind, func(t *testing.T) (node, second store.Store, shut func()) {
			t.Helper()
			node, second = open(t), open(t)
			return node, second, func() {
				require.NoError(t, node.Close())
				require.NoError(t, second.Close())
			}
		}})
	}
	return all
}
