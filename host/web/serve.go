package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"

	"github.com/interlude-go/interlude/host/reqbody"
)

// ListenAndServe listens on the TCP address and serves, as Serve does. A port of 0 is any free one;
// the log says which.
func (d *Server) ListenAndServe(ctx context.Context, address string, handler http.Handler) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	d.log.Info("web: serving", "page", "http://"+listener.Addr().String()+d.opts.Prefix+"/")
	return d.Serve(ctx, listener, handler)
}

// Serve serves requests until ctx ends, with a handler that leads to this Server and to the host's
// other pages; nil is the Server alone. When ctx ends, it ends the streams, waits for the requests
// under way for Options.Timeout at most, cuts the others, and returns nil. It closes the listener.
//
// It is an http.Server with suitable limits, and calls Server.Close at its shutdown: requests send
// their headers within 5 s and their bodies within Options.Timeout, clients read each 16 KiB of a
// response within Options.WriteTimeout, and there are at most Options.MaxConnections. A handler that
// takes larger uploads extends its own read deadline
// (http.ResponseController). A host that needs TLS or other settings makes its own server.
func (d *Server) Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	if handler == nil {
		handler = d
	}
	listener = netutil.LimitListener(listener, min(d.opts.MaxConnections, maxDescriptors()/2))
	listener = &impatient{listener, d.opts.WriteTimeout}
	server := &http.Server{Handler: d.limitBodies(handler), ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout: idleTimeout,
		ErrorLog:    slog.NewLogLogger(d.log.Handler(), slog.LevelWarn)}
	server.RegisterOnShutdown(d.Close)
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.opts.Timeout)
		defer cancel()
		if err := server.Shutdown(patience); err != nil {
			d.log.Warn("web: requests were cut at the end", "err", err)
		}
	})
	err := server.Serve(listener)
	if stop() { // ctx has not ended: the server has failed
		return errors.Join(err, server.Close())
	}
	<-ended
	return server.Close()
}

// limitBodies sets a deadline for the body of each request, also of one that no route takes.
func (d *Server) limitBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, _ = reqbody.Limit(w, r, d.opts.Timeout)
		next.ServeHTTP(w, r)
	})
}

// impatient is a listener whose connections end when a client does not read. Handlers of the host's
// and net/http itself set no deadline for their responses, so that such a client would hold its
// connection indefinitely.
type impatient struct {
	net.Listener
	timeout time.Duration
}

func (l *impatient) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &impatientConn{Conn: c, timeout: l.timeout}, nil
}

type impatientConn struct {
	net.Conn
	timeout time.Duration
	limited atomic.Bool // the handler has set its own deadline
}

func (c *impatientConn) SetDeadline(t time.Time) error {
	c.limited.Store(!t.IsZero())
	return c.Conn.SetDeadline(t)
}

func (c *impatientConn) SetWriteDeadline(t time.Time) error {
	c.limited.Store(!t.IsZero())
	return c.Conn.SetWriteDeadline(t)
}

// Write writes a large response piece by piece: a slow client has the time for each of them.
func (c *impatientConn) Write(p []byte) (n int, err error) {
	for {
		piece := p[n:min(n+maxPiece, len(p))]
		if !c.limited.Load() {
			if err := c.Conn.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
				return n, err
			}
		}
		written, err := c.Conn.Write(piece)
		if n += written; err != nil || n == len(p) {
			return n, err
		}
	}
}

// Limits of the server that Serve makes.
const (
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = 2 * time.Minute
	maxPiece          = 16 << 10
)
