package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// Network says what the HTTP senders may reach. The zero value is for addresses that somebody else
// has given: https to the public internet alone.
type Network struct {
	// Allow are addresses that are allowed although they are not public, such as a host's own
	// network: each is compared with the address that is dialed, after DNS.
	Allow []netip.Prefix
	// PlainHTTP allows http beside https.
	PlainHTTP bool
	// TLS is the configuration of connections, for a certificate authority of the host's own. Nil:
	// the system's.
	TLS *tls.Config
}

// ErrForbiddenAddress: the receiver's address is not public, or not the one that Network allows.
// Whoever gives the address of a webhook must not reach the host's own services by it.
var ErrForbiddenAddress = errors.New("notify: address is not public")

// special are the ranges within the unicast ones that are not public.
var special = prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
	"192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
	"168.63.129.16/32", // a cloud's metadata, at an address that is public elsewhere
	// Of IPv6, 2000::/3 alone is given out. Within it: protocols that carry other addresses, and
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

// allows reports whether the address may be dialed.
func (n *Network) allows(a netip.Addr) bool {
	a = a.Unmap()
	for _, p := range n.Allow {
		if p.Contains(a.WithZone("")) {
			return true
		}
	}
	if a.Is6() && !global6.Contains(a) {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// control refuses an address at the last moment before it is dialed, when no name can change its
// address any more.
func (n *Network) control(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil || !n.allows(a.Addr()) {
		return fmt.Errorf("%w: %s", ErrForbiddenAddress, address)
	}
	return nil
}

// Bounds of what is read of a receiver.
const (
	maxHeader = 64 << 10
	maxAnswer = 64 << 10
)

// client returns the http.Client. It has no proxy, which would dial in its place, and follows no
// redirect.
func (n *Network) client() *http.Client {
	dialer := net.Dialer{Timeout: DefaultTimeout, Control: n.control}
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: n.TLS.Clone(),
			ForceAttemptHTTP2: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
			TLSHandshakeTimeout: DefaultTimeout, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: DefaultConcurrency},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// parse returns the receiver's address.
func (n *Network) parse(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch { // no error shows the address: it may be a secret, as those of chats are
	case address == "":
		return nil, errors.New("notify: the URL is empty")
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("notify: the URL is not of the form https://host/path")
	case u.Scheme == "http" && !n.PlainHTTP:
		return nil, errors.New("notify: the URL begins with http:, want https: unless Network.PlainHTTP is set")
	}
	return u, nil
}

// StatusError is the error of a receiver that has answered with something else than 2xx.
type StatusError struct {
	Status int
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("notify: receiver answered %d %s", e.Status, http.StatusText(e.Status))
}

// post sends a body, and returns nil if the receiver has accepted it. 410 says that the receiver
// wants no more.
func post(ctx context.Context, c *http.Client, clock lifecycle.Clock, to *url.URL, header http.Header, body io.Reader,
) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), body)
	if err != nil {
		return errors.New("notify: the request cannot be made") // its error has the address
	}
	request.Header = header
	response, err := c.Do(request)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) { // it has the address
			err = u.Err
		}
		return fmt.Errorf("notify: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // nothing was written
	// A connection whose answer was read can be used again. What the answer says is of no interest.
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer)
	refusal := &StatusError{response.StatusCode}
	switch status := response.StatusCode; {
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusGone:
		return Permanent(refusal)
	}
	if pause := retryAfter(response.Header.Get("Retry-After"), clock.Now()); pause > 0 {
		return &AfterError{pause, refusal}
	}
	return refusal
}

// retryAfter is the pause for which a receiver asks, in seconds or as a date.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return at.Sub(now)
	}
	return 0
}
