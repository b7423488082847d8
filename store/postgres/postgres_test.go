package postgres_test

import (
	"crypto/rand"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/lifecycle/lifecycletest"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/storetest"
)

// place is a store that remembers where it is, for reopening.
type place struct {
	*postgres.Store
	dsn string
	o   postgres.Options
}

func open(tb testing.TB) store.Store {
	tb.Helper()
	return at(tb, os.Getenv("INTERLUDE_POSTGRES"), postgres.Options{Schema: "t_" + rand.Text(), NoListen: true, NoNotify: true})
}

func at(tb testing.TB, dsn string, o postgres.Options) store.Store {
	tb.Helper()
	s, err := postgres.Open(tb.Context(), dsn, o)
	require.NoError(tb, err)
	return &place{s, dsn, o}
}

func reopen(tb testing.TB, s store.Store) store.Store {
	tb.Helper()
	require.NoError(tb, s.Close())
	return also(tb, s)
}

func also(tb testing.TB, s store.Store) store.Store {
	tb.Helper()
	p, ok := s.(*place)
	require.True(tb, ok)
	return at(tb, p.dsn, p.o)
}

func TestStore(t *testing.T) {
	storetest.Harness{Open: open, Reopen: reopen, Crash: also, Also: also}.Run(t)
}

// bubbled is a store that keeps no time: a bubble's clock runs ahead of the server's.
type bubbled struct {
	store.Store
	store.Watcher
	store.Surveyor
	store.Meter

	inner store.Store
}

func bubble(s store.Store) store.Store {
	p := s.(*place) //nolint:forcetypeassert // there is no other
	return &bubbled{p, p, p, p, p}
}

func TestRequirementsOnPostgres(t *testing.T) {
	lifecycletest.Run(t, lifecycletest.Harness{
		Open:   func(tb testing.TB) store.Store { tb.Helper(); return bubble(open(tb)) },
		Reopen: func(tb testing.TB, s store.Store) store.Store { tb.Helper(); return bubble(reopen(tb, s.(*bubbled).inner)) }, //nolint:forcetypeassert // as above
	})
}
