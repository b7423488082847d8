package postgres_test

import (
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
)

// wire passes bytes on between a store and the server, until it is frozen: then it keeps them.
type wire struct {
	net.Listener

	to     string
	frozen atomic.Bool
	thawed chan struct{}
	work   sync.WaitGroup
}

// newWire returns the wire, and the connection string that goes through it.
func newWire(w *world) (*wire, string) {
	w.Helper()
	u, err := url.Parse(w.dsn)
	require.NoError(w, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(w, err)
	wire := &wire{Listener: l, to: u.Host, thawed: make(chan struct{})}
	u.Host = l.Addr().String()
	wire.work.Go(wire.accept)
	w.Cleanup(func() {
		close(wire.thawed)
		require.NoError(w, l.Close())
		wire.work.Wait()
	})
	return wire, u.String()
}

func (w *wire) accept() {
	for {
		near, err := w.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", w.to)
		if err != nil {
			_ = near.Close()
			continue
		}
		for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
			w.work.Go(func() {
				w.pass(way[0], way[1])
				_, _ = near.Close(), far.Close()
			})
		}
	}
}

func (w *wire) pass(from io.Reader, to io.Writer) {
	buf := make([]byte, 1<<16)
	for {
		n, err := from.Read(buf)
		if w.frozen.Load() {
			<-w.thawed
			return
		}
		if _, failed := to.Write(buf[:n]); errors.Join(err, failed) != nil {
			return
		}
	}
}

// A node that is cut off in the middle of a claim, which holds the row of the pool, holds up the claims of the others for two seconds: then the server
// ends its transaction, and what it had picked is theirs. Its own call ends with Options.Timeout.
func TestANodeThatFreezesInAClaim(t *testing.T) {
	w, s := newWorld(t, postgres.Options{})
	wire, dsn := newWire(w)
	cut, err := postgres.Open(t.Context(), dsn, postgres.Options{Schema: w.schema, Timeout: 3 * time.Second, NoListen: true})
	require.NoError(t, err)
	w.commit(s, created("r"))

	froze := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		_, err := cut.Claim(t.Context(), store.ClaimRequest{Node: "n", Now: noon, Max: 5, Told: true, Start: func(r store.Run, spec []byte) (store.Commit, error) {
			wire.frozen.Store(true) // the pool and the run are locked by now
			close(froze)
			return start(r, spec)
		}})
		ended <- err
	}()
	<-froze
	claimed, err := s.Claim(t.Context(), store.ClaimRequest{Node: "n", Now: noon, Max: 5, Told: true, Start: start})
	require.NoError(t, err)
	require.Len(t, claimed, 1, "the run is free again")
	require.ErrorIs(t, <-ended, postgres.ErrTimeout)
	require.EqualValues(t, 2, w.load(s, "r").Version, "it was started once")
	require.NoError(t, cut.Close())
}
