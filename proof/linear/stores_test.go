package linear_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/proof/stores"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// share opens n handles on one new store.
func share(tb testing.TB, kind string, n int) (handles []store.Store) {
	tb.Helper()
	open := stores.New(tb, kind, cast.StoreOptions{})
	for range n {
		s := open(tb)
		tb.Cleanup(func() { require.NoError(tb, s.Close()) })
		handles = append(handles, s)
	}
	return handles
}
