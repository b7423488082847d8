package fronttest

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// HoldsNoConnection checks that a request whose body never arrives holds its connection for at
// most 90 s, even on a server without time limits. Each request is the request line and the
// headers of an HTTP/1.1 request, without the length of the body. newHandler is called in a
// synctest bubble.
func HoldsNoConnection(t *testing.T, newHandler func(t *testing.T) http.Handler, requests ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		listener := &pipes{dialed: make(chan net.Conn), closed: make(chan struct{})}
		server := &http.Server{Handler: newHandler(t)} //nolint:gosec // deliberately without time limits
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(listener) }()
		n := 0
		for _, request := range requests {
			for _, length := range []string{"Content-Length: 9", "Content-Length: 1000000",
				"Transfer-Encoding: chunked"} {
				n++
				go func() { _, _ = io.Copy(io.Discard, listener.dial(request+length+"\r\n\r\n")) }()
			}
		}
		synctest.Wait()
		require.EqualValues(t, n, listener.held.Load())
		time.Sleep(90 * time.Second)
		synctest.Wait()
		require.Zero(t, listener.held.Load(), "connections are held")
		require.NoError(t, server.Shutdown(context.WithoutCancel(t.Context())))
		require.ErrorIs(t, <-ended, http.ErrServerClosed)
	})
}

// pipes is a listener whose connections are net.Pipe, so that deadlines pass in a synctest bubble.
// It counts the connections that the server has not closed.
type pipes struct {
	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once
	held   atomic.Int64
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialed:
		p.held.Add(1)
		return &pipe{Conn: c, of: p}, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (p *pipes) dial(request string) net.Conn {
	client, server := net.Pipe()
	go func() {
		p.dialed <- server
		_, _ = io.WriteString(client, request)
	}()
	return client
}

type pipe struct {
	net.Conn
	of   *pipes
	once sync.Once
}

func (p *pipe) RemoteAddr() net.Addr { return p.of.Addr() }

func (p *pipe) Close() error {
	p.once.Do(func() { p.of.held.Add(-1) })
	return p.Conn.Close()
}
