package postgres_test

import (
	"net"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// silent is a server that hangs: it takes connections and says nothing. It counts them.
func silent(tb testing.TB) (address string, taken *atomic.Int64) {
	tb.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(tb, err)
	taken = new(atomic.Int64)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			taken.Add(1)
			defer conn.Close()
		}
	}()
	tb.Cleanup(func() {
		require.NoError(tb, l.Close())
		<-done
	})
	return l.Addr().String(), taken
}

// J9: the first host of a connection string accepts connections and never answers. No call waits
// for it longer than Options.Timeout, and not every new connection waits for it.
func TestOpenTriesNextHostWhenOneHangs(t *testing.T) {
	hung, taken := silent(t)
	dsn, schema := pgtest.Schema(t)
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	if u.Scheme == "" {
		t.Log("the server's connection string is no URL, and has no list of hosts")
		return
	}
	u.Host = hung + "," + u.Host
	nothing := func(store.Reader) error { return nil }
	askNoOther := postgres.Options{Schema: schema, NoListen: true, NoNotify: true, ClockInterval: -1}
	require.NoError(t, inTime(func() error {
		taken.Store(0)
		s, err := postgres.Open(t.Context(), pgtest.With(u.String(), "target_session_attrs=read-write"), askNoOther)
		require.NoError(t, err, "within its timeout, though nothing is said of connect_timeout")
		defer s.Close()
		require.EqualValues(t, 1, taken.Load(), "the first connection asked there")
		return s.Confirm(t.Context(), func(store.Reader) error {
			return s.Confirm(t.Context(), nothing) // a connection is in use: the next is a new one
		})
	}))
	require.EqualValues(t, 1, taken.Load(), "the next begin where the first was let in")
}
