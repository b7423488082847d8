package web

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/interlude-go/interlude/lifecycle"
)

// Admission of requests and identification of their callers.

// setSafeHeaders sets headers of every response: no framing by other sites, no shared caching, no
// MIME sniffing. Pages load only from this origin and execute no inline script.
func setSafeHeaders(h http.Header) {
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Content-Security-Policy", "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "+
		"frame-ancestors 'self'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Vary", "Authorization, Cookie, Origin")
	h.Set("X-Content-Type-Options", "nosniff")
}

// admit checks a request's size and origin before its caller is identified, and sets the CORS
// headers. It returns nil if the request is admitted.
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

const localActor = "local"

func (d *Server) identify(r *http.Request) (lifecycle.Actor, *Problem) {
	if d.opts.Identify == nil {
		if !fromThisMachine(r, d.origins) {
			d.warnOnce.Do(func() {
				d.log.Warn("web: refused a request from another machine or through a proxy: set Options.Identify",
					"path", r.URL.Path, "peer", r.RemoteAddr, "host", r.Host, "proto", r.Proto)
			})
			return lifecycle.Actor{}, newProblem(http.StatusUnauthorized, "LOOPBACK_ONLY",
				"This server has no sign-in, so it accepts requests from its own machine only. Its operator can "+
					"configure a sign-in.")
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
	d.log.Info("web: refused a request without a known caller", "path", r.URL.Path, "peer", r.RemoteAddr,
		"err", err)
	return lifecycle.Actor{}, newProblem(http.StatusUnauthorized, "UNAUTHENTICATED", "Sign in first.")
}

// forwarded reports whether proxies use the header to name their client.
func forwarded(name string) bool {
	switch name {
	case "X-Real-Ip", "Via", "X-Original-Host", "Cf-Connecting-Ip", "X-Envoy-External-Address":
		return true
	}
	return strings.Contains(name, "Forwarded") || strings.HasSuffix(name, "Client-Ip")
}

// FromThisMachine reports whether a program on this machine sent the request directly. The connection
// must use a loopback address, the request must have no header of a proxy, and its Host and Origin
// must name this machine. The check of Host prevents DNS rebinding: the page of an attacker whose
// domain resolves to this machine still sends that domain as Host. A proxy that adds no header and
// rewrites Host is recognized by HTTP/1.0 (nginx's default) or by the Origin of the browser. A handler
// without a sign-in must refuse all other requests; Server does.
func FromThisMachine(r *http.Request) bool { return fromThisMachine(r, nil) }

func fromThisMachine(r *http.Request, origins map[string]bool) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return false
	}
	for name := range r.Header {
		if forwarded(name) {
			return false
		}
	}
	if origin := r.Header.Get("Origin"); origin != "" && !origins[origin] {
		if u, err := url.Parse(origin); err != nil || !isHere(u.Host) {
			return false
		}
	}
	return r.ProtoAtLeast(1, 1) && isHere(r.Host)
}

func isHere(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}
