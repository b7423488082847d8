package netguard

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// L4: only public addresses and the host's list are allowed.
func TestL4OnlyPublicAddressesAreAllowed(t *testing.T) {
	var n Network
	for _, text := range []string{"127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255",
		"192.168.1.1", "169.254.169.254", "100.64.0.1", "100.100.100.200", "192.0.0.170", "198.18.0.1", "203.0.113.9",
		"224.0.0.1", "240.0.0.1", "255.255.255.255", "168.63.129.16", "::", "::1", "::ffff:127.0.0.1",
		"::ffff:169.254.169.254", "::7f00:1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1",
		"ff02::1", "64:ff9b::7f00:1", "64:ff9b:1::a00:1", "2002:7f00:1::", "2001:0:7f00:1::", "2001:db8::1", "3fff::1",
		"100::1", "5f00::1"} {
		require.False(t, n.Allows(netip.MustParseAddr(text)), text)
	}
	for _, text := range []string{"8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "192.0.1.1", "2606:4700::1111",
		"2a00:1450::1", "::ffff:8.8.8.8"} {
		require.True(t, n.Allows(netip.MustParseAddr(text)), text)
	}
	n.Allow = prefixes("10.0.0.0/8", "fe80::/10")
	require.True(t, n.Allows(netip.MustParseAddr("10.1.1.1")))
	require.True(t, n.Allows(netip.MustParseAddr("::ffff:10.1.1.1")))
	require.True(t, n.Allows(netip.MustParseAddr("fe80::1%eth0")))
	require.False(t, n.Allows(netip.MustParseAddr("127.0.0.1")))
	require.False(t, n.Allows(netip.Addr{}))
	require.ErrorIs(t, n.control("tcp", "nonsense", nil), ErrForbiddenAddress)
}

// L4: neither the environment's proxy nor a redirect bypasses the guard, over http or https.
func TestL4NoWayAroundTheGuard(t *testing.T) {
	reached := 0
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	defer inner.Close()
	outer := httptest.NewTLSServer(http.RedirectHandler(inner.URL, http.StatusTemporaryRedirect))
	outer.Config.ErrorLog = log.New(io.Discard, "", 0) // of refused handshakes
	defer outer.Close()
	t.Setenv("HTTP_PROXY", inner.URL)
	t.Setenv("HTTPS_PROXY", inner.URL)

	get := func(n Network, address string) (int, error) {
		u, err := n.Parse(address)
		require.NoError(t, err)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.String(), nil)
		require.NoError(t, err)
		response, err := n.Client().Do(request)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	_, err := get(Network{PlainHTTP: true}, inner.URL)
	require.ErrorIs(t, err, ErrForbiddenAddress)
	_, err = get(Network{}, outer.URL)
	require.ErrorIs(t, err, ErrForbiddenAddress)

	// The receiver is allowed and redirects: the redirect is the answer.
	trusting := Network{Allow: prefixes("127.0.0.0/8"), TLS: outer.Client().Transport.(*http.Transport).TLSClientConfig}
	status, err := get(trusting, outer.URL)
	require.NoError(t, err)
	require.Equal(t, http.StatusTemporaryRedirect, status)
	require.Zero(t, reached)

	// Without its certificate authority the same server is refused.
	trusting.TLS = nil
	_, err = get(trusting, outer.URL)
	var unverified *tls.CertificateVerificationError
	require.ErrorAs(t, err, &unverified)
}
