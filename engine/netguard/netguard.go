// Package netguard makes HTTP clients for addresses chosen by others, such as a webhook's receiver:
// they reach only the public internet over https, unless the host allows more. Otherwise the author
// of an address could call the host's own services.
//
// An address is checked when it is dialed, after DNS, so that a name cannot change in between.
// There is no proxy, which would dial instead, and redirects are not followed. The package uses
// only the standard library; host/notify and engines that speak HTTP use it.
package netguard

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// Network says which addresses a client may reach. The zero value is for untrusted addresses: https
// to the public internet. It is safe for concurrent use.
type Network struct {
	// Allow lists other ranges that may be dialed, such as a host's own network. Addresses are
	// compared after DNS, without zones.
	Allow []netip.Prefix
	// PlainHTTP allows http in addition to https.
	PlainHTTP bool
	// TLS configures the connections, for instance with a private certificate authority. Nil: the
	// system's defaults.
	TLS *tls.Config
}

// ErrForbiddenAddress: the address is not public and Network.Allow does not list it. Errors of
// clients wrap it.
var ErrForbiddenAddress = errors.New("netguard: address is not public")

// special are the non-public ranges within the unicast ones.
var special = prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
	"192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
	"168.63.129.16/32", // a cloud's metadata, at an address that is public elsewhere
	// Only 2000::/3 of IPv6 is assigned. Within it: protocols that carry other addresses, and
	// documentation.
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")

var global6 = netip.MustParsePrefix("2000::/3")

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		all[i] = netip.MustParsePrefix(t)
	}
	return all
}

func (n Network) Allows(a netip.Addr) bool {
	a = a.Unmap()
	for _, p := range n.Allow {
		if p.Contains(a.WithZone("")) {
			return true
		}
	}
	if !a.IsValid() || a.Is6() && !global6.Contains(a) {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

func (n Network) control(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil || !n.Allows(a.Addr()) {
		return fmt.Errorf("%w: %s", ErrForbiddenAddress, address)
	}
	return nil
}

// Limits of a client's connections. The caller's context bounds each request.
const (
	dialTimeout = 15 * time.Second
	idleTimeout = time.Minute
	maxIdle     = 4 // connections to one host
	maxHeader   = 64 << 10
)

// Client returns a client that reaches only allowed addresses. The caller may wrap its Transport
// and set its Timeout.
func (n Network) Client() *http.Client {
	dialer := net.Dialer{Timeout: dialTimeout, Control: n.control}
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: n.TLS.Clone(),
			ForceAttemptHTTP2: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
			TLSHandshakeTimeout: dialTimeout, IdleConnTimeout: idleTimeout, MaxIdleConnsPerHost: maxIdle},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Parse returns the URL of an acceptable address: https://host/path, or http with PlainHTTP. Its
// errors do not show the address, which may be a secret.
func (n Network) Parse(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case address == "":
		return nil, errors.New("the URL is empty")
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("the URL is not of the form https://host/path")
	case u.Scheme == "http" && !n.PlainHTTP:
		return nil, errors.New("the URL begins with http:, want https: unless Network.PlainHTTP is set")
	}
	return u, nil
}
