package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"github.com/interlude-go/interlude/host/reqbody"
)

// ListenAndServe listens on the TCP address and serves, as Serve does. A port of 0 is any free one;
// the log says which.
func (d *Door) ListenAndServe(ctx context.Context, address string, handler http.Handler) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	d.log.Info("web: serving", "page", "http://"+listener.Addr().String()+d.opts.Prefix+"/")
	return d.Serve(ctx, listener, handler)
}

// Serve serves requests until ctx ends, with a handler that leads to this Door and to the host's
// other pages; nil is the Door alone. When ctx ends, it ends the streams, waits for the requests
// under way for Options.Timeout at most, cuts the others, and returns nil. It closes the listener.
//
// It is an http.Server with limits that suit the Door, and Door.Close at its shutdown: requests send
// their headers within 5 s and their bodies within Options.Timeout, and there are at most
// Options.MaxConnections. A handler that takes larger uploads extends its own read deadline
// (http.ResponseController). A host that needs TLS or other settings makes its own server.
func (d *Door) Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	if handler == nil {
		handler = d
	}
	listener = netutil.LimitListener(listener, min(d.opts.MaxConnections, maxDescriptors()/2))
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
func (d *Door) limitBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, _ = reqbody.Limit(w, r, d.opts.Timeout)
		next.ServeHTTP(w, r)
	})
}

// Limits of the server that Serve makes.
const (
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = 2 * time.Minute
)
