package web_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/web"
)

// L2, L3: a server ends with its context and ends its streams, even if their runs continue; a
// failing listener is reported.
func TestL3ServeEndsWithItsContextAndItsStreamsWithIt(t *testing.T) {
	w := openFor(t)
	w.submit("r", "Ship?", "ada")
	opts := web.Options{Identify: identify, Logger: slog.New(slog.DiscardHandler)}
	listen := func() net.Listener {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		return listener
	}
	listener := listen()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- web.Handler(w.lc.Client, opts).Serve(ctx, listener, nil) }()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+
		"/interlude/api/runs/r/events", nil)
	require.NoError(t, err)
	r.Header.Set("X-User", "ada")
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
	late := time.AfterFunc(time.Minute, func() { listener.Close(); res.Body.Close() }) // fails the test on a hang
	defer late.Stop()
	stop()
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err, "the stream ends cleanly")
	require.NoError(t, <-ended)

	closed := listen()
	require.NoError(t, closed.Close())
	frontEnd := web.Handler(w.lc.Client, opts)
	require.ErrorIs(t, frontEnd.Serve(t.Context(), closed, nil), net.ErrClosed)
	taken := listen()
	defer taken.Close()
	require.Error(t, web.Handler(w.lc.Client, opts).ListenAndServe(t.Context(), taken.Addr().String(), nil))
}
