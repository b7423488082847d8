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

// ListenAndServe listens on the TCP address and calls Serve. Port 0 selects a free port, which is
// logged.
func (d *Server) ListenAndServe(ctx context.Context, address string, handler http.Handler) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	d.log.Info("web: serving", "page", "http://"+listener.Addr().String()+d.opts.Prefix+"/")
	return d.Serve(ctx, listener, handler)
}

// Serve serves requests until ctx ends. The handler routes to this Server and to the host's other
// pages; nil means this Server only. When ctx ends, Serve ends the streams, waits up to
// Options.Timeout for running requests, disconnects the rest, closes the listener, and returns nil.
//
// The http.Server has these limits: request headers within 5 s, bodies within Options.Timeout, each
// 16 KiB of a response read within Options.WriteTimeout, at most Options.MaxConnections
// connections. A handler of larger uploads extends its read deadline (http.ResponseController). For
// TLS, run your own server and register Close for its shutdown.
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
			d.log.Warn("web: disconnected running requests at shutdown", "err", err)
		}
	})
	err := server.Serve(listener)
	if stop() { // ctx has not ended: the server failed
		return errors.Join(err, server.Close())
	}
	<-ended
	return server.Close()
}

// limitBodies sets a read deadline for every body, even for requests without a route.
func (d *Server) limitBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, _ = reqbody.Limit(w, r, d.opts.Timeout)
		next.ServeHTTP(w, r)
	})
}

// impatient is a listener that disconnects clients which do not read. Other handlers, and net/http
// itself, set no write deadline.
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

// Write writes a large response piece by piece, each with a new deadline, so a slow client gets it
// all.
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

// Limits of Serve's server.
const (
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = 2 * time.Minute
	maxPiece          = 16 << 10
)
