package notify

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/netguard"
	"github.com/interlude-go/interlude/lifecycle"
)

// Secrets of the tests.
var (
	secretOld = secretPrefix + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("o", minSecret)))
	secretNew = secretPrefix + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("n", maxSecret)))
)

var loopback = netguard.Network{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, PlainHTTP: true}

func sample() Notice {
	e := lifecycle.Event{ProtocolVersion: "fcmp/1.0", RunID: "release-1.2", Seq: 7, Type: lifecycle.TypeInputRequired,
		TS: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Engine: "codex",
		Meta: lifecycle.Meta{Attempt: 1, LocalSeq: 4},
		Data: json.RawMessage(`{"interaction_id":1,"kind":"confirm","prompt":"Ship <it>?"}`)}
	return Notice{ID: "release-1.2/7", Endpoint: "r", Attempt: 1, Event: e}
}

// posted sends a notice to a receiver, and returns its error.
func posted(tb testing.TB, handle http.HandlerFunc) error {
	tb.Helper()
	server := httptest.NewServer(handle)
	defer server.Close()
	w, err := NewWebhook(WebhookConfig{URL: server.URL + "/hook", Secrets: []string{secretNew, secretOld},
		Network: loopback})
	require.NoError(tb, err)
	ctx, cancel := context.WithTimeout(tb.Context(), 20*time.Second)
	defer cancel()
	return w.Send(ctx, sample())
}

// L4: Standard Webhooks' own library verifies the webhook with each of the secrets, and so does
// Verify; the id is the notice's, and docs/notify.md shows the body.
func TestL4AWebhookIsVerifiedByTheStandardsOwnLibrary(t *testing.T) {
	var came *http.Request
	var body []byte
	require.NoError(t, posted(t, func(_ http.ResponseWriter, r *http.Request) {
		came = r
		body, _ = io.ReadAll(r.Body)
	}))
	for _, secret := range []string{secretNew, secretOld} {
		theirs, err := standardwebhooks.NewWebhook(secret)
		require.NoError(t, err)
		require.NoError(t, theirs.Verify(body, came.Header))
		id, err := Verify(came.Header, body, time.Now(), secret)
		require.NoError(t, err)
		require.Equal(t, "release-1.2/7", id)
	}
	require.Equal(t, "/hook", came.URL.Path)
	page, err := os.ReadFile("../../docs/notify.md")
	require.NoError(t, err)
	_, shown, _ := strings.Cut(string(page), "```json\n")
	shown, _, _ = strings.Cut(shown, "```")
	require.JSONEq(t, shown, string(body))
}

// L4: Verify accepts webhooks signed by the Standard Webhooks library, within the clock
// tolerance, and rejects all others.
func TestL4VerifyAcceptsWhatIsSignedAndNothingElse(t *testing.T) {
	body := []byte(`{"a": 1}`)
	now := time.Unix(1_770_000_000, 0)
	theirs, err := standardwebhooks.NewWebhook(secretOld)
	require.NoError(t, err)
	signature, err := theirs.Sign("a/1", now, body)
	require.NoError(t, err)
	header := func(changes ...string) http.Header {
		h := http.Header{HeaderID: {"a/1"}, HeaderTimestamp: {"1770000000"},
			HeaderSignature: {"v1a,x v1,AAAA " + signature}}
		for i := 0; i+1 < len(changes); i += 2 {
			h.Set(changes[i], changes[i+1])
		}
		return h
	}
	id, err := Verify(header(), body, now.Add(Tolerance), secretNew, secretOld)
	require.NoError(t, err)
	require.Equal(t, "a/1", id)
	for name, c := range map[string]struct {
		header http.Header
		body   string
		later  time.Duration
		secret string
		want   error
	}{
		"other body":        {header(), `{"a": 2}`, 0, secretOld, ErrSignature},
		"other id":          {header(HeaderID, "a/2"), string(body), 0, secretOld, ErrSignature},
		"no id":             {header(HeaderID, ""), string(body), 0, secretOld, ErrSignature},
		"other time":        {header(HeaderTimestamp, "1770000001"), string(body), 0, secretOld, ErrSignature},
		"time with a sign":  {header(HeaderTimestamp, "+1770000000"), string(body), 0, secretOld, ErrSignature},
		"no time":           {header(HeaderTimestamp, ""), string(body), 0, secretOld, ErrSignature},
		"no signature":      {header(HeaderSignature, ""), string(body), 0, secretOld, ErrSignature},
		"another version":   {header(HeaderSignature, "v2"+signature[2:]), string(body), 0, secretOld, ErrSignature},
		"without a version": {header(HeaderSignature, signature[3:]), string(body), 0, secretOld, ErrSignature},
		"another secret":    {header(), string(body), 0, secretNew, ErrSignature},
		"too old":           {header(), string(body), Tolerance + 1, secretOld, ErrTimestamp},
		"from the future":   {header(), string(body), -Tolerance - 1, secretOld, ErrTimestamp},
		"an empty request":  {http.Header{}, "", 0, secretOld, ErrSignature},
	} {
		_, err := Verify(c.header, []byte(c.body), now.Add(c.later), c.secret)
		require.ErrorIs(t, err, c.want, name)
	}
	_, err = Verify(header(), body, now)
	require.ErrorIs(t, err, ErrSignature, "without a secret")
	for _, secret := range []string{"", "whsec_", "whsec_c2hvcnQ=", secretOld[len(secretPrefix):], "whsec_****",
		secretPrefix + base64.StdEncoding.EncodeToString(make([]byte, maxSecret+1))} {
		_, err := Verify(header(), body, now, secret)
		require.ErrorContains(t, err, "want \"whsec_\"")
		require.NotErrorIs(t, err, ErrSignature)
		_, err = NewWebhook(WebhookConfig{URL: "https://example.com", Secrets: []string{secret}})
		require.ErrorContains(t, err, "want \"whsec_\"")
	}
}

// FuzzL4Verify: the standard's library accepts all that Verify accepts, with the same id.
func FuzzL4Verify(f *testing.F) {
	now := time.Unix(1_770_000_000, 0)
	theirs, err := standardwebhooks.NewWebhook(secretOld)
	require.NoError(f, err)
	good, err := theirs.Sign("a/1", now, []byte("{}"))
	require.NoError(f, err)
	f.Add("a/1", "1770000000", good, "{}")
	f.Add("a/1", "1770000000", "v1,AAAA "+good+" v2,x", "{}")
	f.Add("a.1", "1770000000", strings.TrimSuffix(good, "="), "{}")
	f.Add("", "+1770000000", "v1,", "")
	f.Fuzz(func(t *testing.T, id, timestamp, signature, body string) {
		header := http.Header{HeaderID: {id}, HeaderTimestamp: {timestamp}, HeaderSignature: {signature}}
		got, err := Verify(header, []byte(body), now, secretOld)
		if err != nil {
			require.Empty(t, got)
			require.True(t, errors.Is(err, ErrSignature) || errors.Is(err, ErrTimestamp))
			return
		}
		require.NoError(t, theirs.VerifyIgnoringTimestamp([]byte(body), header))
		require.Equal(t, id, got)
		signature, _ = theirs.Sign(id, now, []byte(body))
		require.NotEmpty(t, signature)
	})
}

// L4: receivers that refuse, redirect, hang, disconnect or send too much: each attempt fails with a
// distinct error.
func TestL4ReceiversMisbehave(t *testing.T) {
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the redirect was followed")
	}))
	defer inner.Close()
	var status *StatusError
	for code, permanent := range map[int]bool{500: false, 400: false, 404: false, 410: true, 304: false} {
		err := posted(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
		require.ErrorAs(t, err, &status)
		require.Equal(t, code, status.Status)
		require.Equal(t, permanent, errors.Is(err, ErrPermanent))
	}
	for _, code := range []int{301, 302, 303, 307, 308} {
		err := posted(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inner.URL, code) })
		require.ErrorAs(t, err, &status)
		require.Equal(t, code, status.Status)
	}
	began := time.Now()
	for text, want := range map[string]time.Duration{"120": 2 * time.Minute, "soon": 0, "-5": 0, "99999999999": 0,
		began.Add(time.Hour).UTC().Format(http.TimeFormat): time.Hour} {
		err := posted(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", text)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		var after *AfterError
		require.Equal(t, want > 0, errors.As(err, &after), text)
		require.ErrorAs(t, err, &status)
		if want > 0 {
			require.InDelta(t, want, after.Pause, float64(time.Since(began)+time.Second), "a date has whole seconds")
		}
	}
	err := posted(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	require.ErrorIs(t, err, io.EOF, "the connection was closed")
	err = posted(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X", strings.Repeat("x", 128<<10))
	})
	require.ErrorContains(t, err, "header")
	require.NoError(t, posted(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil { // endless: only a limited part is read
			_, _ = w.Write(make([]byte, 1<<16))
		}
	}))
}

// L4: the attempt's timeout ends a receiver's hang.
func TestL4AReceiverThatHangs(t *testing.T) {
	arrived := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer server.Close()
	w, err := NewWebhook(WebhookConfig{URL: server.URL, Secrets: []string{secretOld}, Network: loopback})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	require.ErrorIs(t, w.Send(ctx, sample()), context.Canceled)
}

// L4: an address that is not public is refused when it is dialed, under any name.
func TestL4PrivateAddressesAreRefused(t *testing.T) {
	reached := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		w, err := NewWebhook(WebhookConfig{URL: "http://" + host + ":" + port, Secrets: []string{secretOld},
			Network: netguard.Network{PlainHTTP: true}})
		require.NoError(t, err)
		require.ErrorIs(t, w.Send(t.Context(), sample()), netguard.ErrForbiddenAddress, host)
	}
	require.False(t, reached)
}

// L4: https is required unless the host permits http, and the certificate is verified.
func TestL4TheReceiversCertificateIsVerified(t *testing.T) {
	for address, fault := range map[string]string{"http://example.com": "Network.PlainHTTP",
		"ftp://example.com": "https://host/path", "https://": "https://host/path", "example.com": "https://host/path",
		"https://a b": "https://host/path", "": "is empty"} {
		_, err := NewWebhook(WebhookConfig{URL: address, Secrets: []string{secretOld}})
		require.ErrorContains(t, err, "URL", address)
		require.ErrorContains(t, err, fault, address)
	}
	_, err := NewWebhook(WebhookConfig{URL: "https://example.com"})
	require.ErrorContains(t, err, "Secrets")

	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = nil
	defer server.Close()
	network := loopback
	w, err := NewWebhook(WebhookConfig{URL: server.URL, Secrets: []string{secretOld}, Network: network})
	require.NoError(t, err)
	var unknown x509.UnknownAuthorityError
	require.ErrorAs(t, w.Send(t.Context(), sample()), &unknown)
	network.TLS = server.Client().Transport.(*http.Transport).TLSClientConfig
	w, err = NewWebhook(WebhookConfig{URL: server.URL, Secrets: []string{secretOld}, Network: network})
	require.NoError(t, err)
	require.NoError(t, w.Send(t.Context(), sample()))
}
