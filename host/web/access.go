package web

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/interlude-go/interlude/lifecycle"
)

// This file decides whether a request is served at all, and on whose behalf.

// setSafeHeaders sets the headers that every response has. Other sites may not show it in a frame,
// shared caches may not store it, and browsers may not guess its type. A page loads nothing from
// other sites, and executes no script that is part of its text.
func setSafeHeaders(h http.Header) {
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Content-Security-Policy", "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "+
		"frame-ancestors 'self'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Vary", "Authorization, Cookie, Origin")
	h.Set("X-Content-Type-Options", "nosniff")
}

// admit checks what does not depend on who makes the request: its size, and the site that it comes
// from. It returns nil if the request may go on, and sets the headers of CORS.
func (d *Server) admit(w http.ResponseWriter, r *http.Request) *Problem {
	if len(r.RequestURI) > maxURL {
		return newProblem(http.StatusRequestURITooLong, "URL_TOO_LONG", "The URL is longer than 8 KiB.")
	}
	size := 0
	for name, values := range r.Header {
		for _, value := range values {
			size += len(name) + len(value)
		}
	}
	if size > maxHeader {
		return newProblem(http.StatusRequestHeaderFieldsTooLarge, "HEADERS_TOO_LARGE", "The headers exceed 32 KiB.")
	}
	if origin := r.Header.Get("Origin"); d.origins[origin] {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Set("Access-Control-Expose-Headers", "ETag, Location")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		if r.Method == http.MethodOptions {
			h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST")
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, If-None-Match, "+
				"Last-Event-ID")
			h.Set("Access-Control-Max-Age", "600")
		}
	}
	if err := d.sameSite.Check(r); err != nil {
		return newProblem(http.StatusForbidden, "CROSS_ORIGIN", "A page of another site may not make this request.")
	}
	return nil
}

// localActor is the ID of whoever makes a request, if there is no Identify.
const localActor = "local"

// identify returns who makes the request, or why it is refused.
func (d *Server) identify(r *http.Request) (lifecycle.Actor, *Problem) {
	if d.opts.Identify == nil {
		if !d.fromHere(r) {
			d.warnOnce.Do(func() {
				d.log.Warn("web: a request was refused that another machine or a proxy has made: set Options.Identify",
					"path", r.URL.Path, "peer", r.RemoteAddr, "host", r.Host, "proto", r.Proto)
			})
			return lifecycle.Actor{}, newProblem(http.StatusUnauthorized, "LOOPBACK_ONLY",
				"This server knows no people: it serves its own machine only (web.Options.Identify).")
		}
		return lifecycle.Actor{ID: localActor, Via: "web"}, nil
	}
	actor, err := d.opts.Identify(r)
	if err == nil && actor.ID != "" {
		if actor.Via == "" {
			actor.Via = "web"
		}
		return actor, nil
	}
	d.log.Info("web: a request was refused: nobody knows who makes it", "path", r.URL.Path, "peer", r.RemoteAddr,
		"err", err)
	return lifecycle.Actor{}, newProblem(http.StatusUnauthorized, "UNAUTHENTICATED", "Sign in first.")
}

// forwarded reports whether the header is one in which a proxy names the client that it makes a
// request for.
func forwarded(name string) bool {
	switch name {
	case "X-Real-Ip", "Via", "X-Original-Host", "Cf-Connecting-Ip", "X-Envoy-External-Address":
		return true
	}
	return strings.Contains(name, "Forwarded") || strings.HasSuffix(name, "Client-Ip")
}

// fromHere reports whether a request was made on this machine: the connection comes from it, no
// proxy has forwarded the request, and its Host and its Origin are this machine. The Host protects
// against DNS rebinding: a page of another site whose name was changed to point to this machine
// still sends its own name. A proxy that adds no header, and sends its own Host, is recognized by
// HTTP/1.0, which nginx speaks unless it is configured otherwise, or by a browser's Origin.
func (d *Server) fromHere(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return false
	}
	for name := range r.Header {
		if forwarded(name) {
			return false
		}
	}
	if origin := r.Header.Get("Origin"); origin != "" && !d.origins[origin] {
		if u, err := url.Parse(origin); err != nil || !isHere(u.Host) {
			return false
		}
	}
	return r.ProtoAtLeast(1, 1) && isHere(r.Host)
}

// isHere reports whether a host, with or without a port, is this machine.
func isHere(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}
