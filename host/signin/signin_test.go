package signin_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	_ "modernc.org/sqlite"

	"github.com/interlude-go/interlude/host/signin"
)

// swap is a handler that can be replaced while its server runs.
type swap struct{ atomic.Value }

func (s *swap) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.Load().(http.HandlerFunc)(w, r) }

// host is a host with a sign-in, over TLS.
type host struct {
	*testing.T
	url   string
	in    *signin.SignIn
	store *signin.Store
	db    *sql.DB
	ahead atomic.Int64 // how much later it is here
	tls   *httptest.Server
}

func (h *host) now() time.Time { return time.Now().Add(time.Duration(h.ahead.Load())) }

// serve starts a host whose provider is at the issuer.
func serve(t *testing.T, issuer func(callback string) string) *host {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "signin.db")+"?_pragma=busy_timeout(10000)")
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	h := &host{T: t, db: db}
	h.store, err = signin.OpenSQLite(t.Context(), db)
	require.NoError(t, err)
	handler := &swap{}
	h.tls = httptest.NewTLSServer(handler)
	t.Cleanup(h.tls.Close)
	h.url = h.tls.URL
	h.in, err = signin.New(signin.Config{Issuer: issuer(h.url + "/signin/callback"), ClientID: "desk",
		ClientSecret: "secret", Page: h.url + "/interlude/", Store: h.store, Now: h.now,
		Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	handler.Store(http.HandlerFunc(h.in.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		actor, err := h.in.Identify(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, "%s %v %s", actor.ID, actor.Groups, r.URL.RequestURI())
	})).ServeHTTP))
	return h
}

// browser is a person's browser.
type browser struct {
	*host
	client *http.Client
}

func (h *host) browser() *browser {
	h.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(h, err)
	client := h.tls.Client()
	return &browser{h, &http.Client{Transport: client.Transport, Jar: jar}}
}

// open opens a page, and follows redirects.
func (b *browser) open(address string) (status int, at *url.URL, text string) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, address, nil)
	require.NoError(b, err)
	r.Header.Set("Accept", "text/html,*/*")
	return b.do(r)
}

func (b *browser) do(r *http.Request) (status int, at *url.URL, text string) {
	b.Helper()
	response, err := b.client.Do(r)
	require.NoError(b, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(b, err)
	return response.StatusCode, response.Request.URL, string(body)
}

// cookie returns the value of a cookie.
func (b *browser) cookie(name string) string {
	at, _ := url.Parse(b.url)
	for _, c := range b.client.Jar.Cookies(at) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

// with makes a request with these cookies, without a redirect.
func (h *host) with(method, address string, cookies ...string) *http.Response {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), method, address, nil)
	require.NoError(h, err)
	r.Header.Set("Cookie", strings.Join(cookies, "; "))
	response, err := h.tls.Client().Transport.RoundTrip(r)
	require.NoError(h, err)
	response.Body.Close()
	return response
}

// R3: a browser without a session is sent to the provider, signs in there, and returns to the page
// that it wanted; a program gets 401. The provider may change its keys. (zitadel's example server)
func TestR3ABrowserSignsIn(t *testing.T) {
	provider := &swap{}
	server := httptest.NewServer(provider)
	t.Cleanup(server.Close)
	h := serve(t, func(callback string) string {
		storage.RegisterClients(storage.WebClient("desk", "secret", callback))
		return server.URL + "/"
	})
	restart := func() { // its storage makes a new key
		op := exampleop.SetupServer(server.URL+"/", storage.NewStorage(storage.NewUserStore(server.URL+"/")),
			slog.New(slog.DiscardHandler), false)
		provider.Store(http.HandlerFunc(op.ServeHTTP))
	}
	for range 2 {
		restart()
		b := h.browser()
		status, at, text := b.open(h.url + "/interlude/?run=r-1#x")
		require.Equal(t, http.StatusOK, status, text)
		require.Equal(t, "/login/username", at.Path, "the provider's page")
		form := url.Values{"id": {at.Query().Get("authRequestID")}, "username": {"test-user@127.0.0.1"},
			"password": {"verysecure"}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/login/username",
			strings.NewReader(form.Encode()))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		status, at, text = b.do(r)
		require.Equal(t, http.StatusOK, status, text)
		require.Equal(t, "/interlude/", at.Path)
		require.Equal(t, "test-user@zitadel.ch [] /interlude/?run=r-1", text)
		require.Empty(t, b.cookie("__Host-interlude-signin"), "the sign-in is over")
	}
	require.Equal(t, http.StatusUnauthorized, h.with(http.MethodGet, h.url+"/interlude/api/inbox").StatusCode)
}

// liar is a provider that signs everybody in at once, with the claims that a test wants.
type liar struct {
	key, other *ecdsa.PrivateKey
	url        string
	claims     map[string]any        // replaces the true ones
	forge      bool                  // sign with a key that is not published
	asked      map[string]url.Values // the sign-ins, by code
}

func newLiar(t *testing.T) *liar {
	t.Helper()
	l := &liar{asked: make(map[string]url.Values)}
	l.rotate(t)
	l.other = l.key
	l.rotate(t)
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	l.url = server.URL
	return l
}

func (l *liar) rotate(t *testing.T) {
	t.Helper()
	var err error
	l.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
}

func kid(k *ecdsa.PrivateKey) string { return k.X.Text(36)[:8] }

func (l *liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	say := func(what any) { _ = json.NewEncoder(w).Encode(what) }
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		say(map[string]any{"issuer": l.url, "authorization_endpoint": l.url + "/auth",
			"token_endpoint": l.url + "/token",
			"jwks_uri":       l.url + "/keys", "id_token_signing_alg_values_supported": []string{"ES256"}})
	case "/keys":
		say(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &l.key.PublicKey, KeyID: kid(l.key), Algorithm: "ES256",
			Use: "sig"}}})
	case "/auth":
		q := r.URL.Query()
		code := fmt.Sprint(len(l.asked))
		l.asked[code] = q
		http.Redirect(w, r, q.Get("redirect_uri")+"?code="+code+"&state="+url.QueryEscape(q.Get("state")),
			http.StatusFound)
	case "/token":
		asked := l.asked[r.FormValue("code")]
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") {
			http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			return
		}
		claims := map[string]any{"iss": l.url, "sub": "7", "aud": "desk", "nonce": asked.Get("nonce"),
			"iat": time.Now().Unix(),
			"exp": time.Now().Add(time.Hour).Unix(), "email": "ada@example.com", "email_verified": true,
			"groups": []string{"desk", "ops"}}
		maps.Copy(claims, l.claims)
		key := l.key
		if l.forge {
			key = l.other
		}
		signer, _ := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256,
			Key: jose.JSONWebKey{Key: key, KeyID: kid(l.key)}}, nil)
		token, _ := jwt.Signed(signer).Claims(claims).Serialize()
		say(map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": token})
	default:
		http.NotFound(w, r)
	}
}

// R3: an ID token that is expired, for another host, of another sign-in, of another provider, or
// forged signs no one in; neither does an unverified address or an ID with hidden characters.
func TestR3AWrongTokenSignsNobodyIn(t *testing.T) {
	l := newLiar(t)
	h := serve(t, func(string) string { return l.url })
	many := strings.Split(strings.Repeat("a-group-with-a-long-name ", 300), " ")
	for name, claims := range map[string]map[string]any{
		"expired":        {"exp": time.Now().Add(-time.Hour).Unix()},
		"wrong audience": {"aud": "another"},
		"wrong nonce":    {"nonce": "of another sign-in"},
		"no nonce":       {"nonce": nil},
		"wrong issuer":   {"iss": "https://id.example.com"},
		"unverified":     {"email_verified": false},
		"as text":        {"email_verified": "true"},
		"hidden":         {"email": "ada\u202e@example.com"},
		"no person":      {"email": nil},
		"no list":        {"groups": "desk"},
		"many groups":    {"groups": many},
		"forged":         nil,
	} {
		t.Run(name, func(t *testing.T) {
			l.claims, l.forge = claims, claims == nil
			b := h.browser()
			status, at, text := b.open(h.url + "/interlude/")
			require.GreaterOrEqual(t, status, 400, text)
			require.Equal(t, "/signin/callback", at.Path)
			require.Empty(t, b.cookie("__Host-interlude"))
			require.NotContains(t, text, "nonce", "reasons are for the log")
		})
	}
	l.claims, l.forge = nil, false
	t.Run("key rotation", func(t *testing.T) {
		for range 2 { // the second time with a new key of the provider
			b := h.browser()
			status, _, text := b.open(h.url + "/interlude/")
			require.Equal(t, http.StatusOK, status, text)
			require.Equal(t, "ada@example.com [desk ops] /interlude/", text)
			l.rotate(t)
		}
	})
}

// R3: a callback counts once, only in the browser that began the sign-in, and only for 10 minutes.
// Cookies cannot be exchanged for one another, and no redirect leaves the site.
func TestR3ASignInCannotBeReplayed(t *testing.T) {
	l := newLiar(t)
	h := serve(t, func(string) string { return l.url })
	begin := func(to string) (pending, callback string) {
		response := h.with(http.MethodGet, h.url+"/signin/start?to="+url.QueryEscape(to))
		require.Equal(t, http.StatusFound, response.StatusCode)
		require.Equal(t, "DENY", response.Header.Get("X-Frame-Options"))
		require.Contains(t, response.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
		cookie := response.Cookies()[0]
		require.True(t, cookie.HttpOnly && cookie.Secure && cookie.Path == "/" && cookie.Domain == "" &&
			cookie.SameSite == http.SameSiteLaxMode)
		back := h.with(http.MethodGet, response.Header.Get("Location"))
		return cookie.Name + "=" + cookie.Value, back.Header.Get("Location")
	}
	session := func(response *http.Response) string {
		for _, c := range response.Cookies() {
			if c.Name == "__Host-interlude" && c.MaxAge > 0 {
				return c.Name + "=" + c.Value
			}
		}
		return ""
	}
	page := h.url + "/interlude/"
	var pending, callback, one string
	t.Run("fixation", func(t *testing.T) {
		pending, callback = begin("/interlude/runs")
		require.Empty(t, session(h.with(http.MethodGet, callback)), "a browser that began nothing")
		other, _ := begin("/interlude/")
		require.Empty(t, session(h.with(http.MethodGet, callback, other)), "a browser that began another sign-in")
		planted := "__Host-interlude=planted"
		response := h.with(http.MethodGet, callback, pending, planted)
		require.Equal(t, "/interlude/runs", response.Header.Get("Location"))
		one = session(response)
		require.NotEmpty(t, one)
		require.NotEqual(t, planted, one)
		require.Equal(t, http.StatusOK, h.with(http.MethodGet, page, one).StatusCode)
	})
	t.Run("replayed", func(t *testing.T) {
		require.Empty(t, session(h.with(http.MethodGet, callback, pending)))
		require.Empty(t, session(h.with(http.MethodGet, callback, pending, one)), "an old tab keeps its session")
	})
	t.Run("cookies of another kind", func(t *testing.T) {
		as := strings.Replace(pending, "__Host-interlude-signin=", "__Host-interlude=", 1)
		require.Equal(t, http.StatusUnauthorized, h.with(http.MethodGet, page, as).StatusCode)
		changed := strings.Replace(one, "=", "=x", 1)
		require.Equal(t, http.StatusUnauthorized, h.with(http.MethodGet, page, changed).StatusCode, "an unknown key")
		flip := func(r rune) rune { return map[bool]rune{true: 'B', false: 'A'}[r == 'A'] }
		changed = one[:len(one)-8] + strings.Map(flip, one[len(one)-8:])
		require.Equal(t, http.StatusUnauthorized, h.with(http.MethodGet, page, changed).StatusCode)
	})
	t.Run("too late", func(t *testing.T) {
		pending, callback = begin("/")
		h.ahead.Store(int64(11 * time.Minute))
		require.Empty(t, session(h.with(http.MethodGet, callback, pending)))
		h.ahead.Store(0)
	})
	for _, to := range []string{"https://evil.example", "//evil.example", "/\\evil.example", "evil", "/signin/out",
		"/\t/evil.example"} {
		pending, callback = begin(to)
		require.Equal(t, "/interlude/", h.with(http.MethodGet, callback, pending).Header.Get("Location"), to)
	}
}

// R3: a session ends with its lifetime, a sign-out or EndSessions; a copy of its cookie does too.
// Until then its cookie is renewed.
func TestR3ASessionEnds(t *testing.T) {
	l := newLiar(t)
	h := serve(t, func(string) string { return l.url })
	page := h.url + "/interlude/"
	signIn := func() (*browser, string) {
		b := h.browser()
		status, _, text := b.open(page)
		require.Equal(t, http.StatusOK, status, text)
		return b, "__Host-interlude=" + b.cookie("__Host-interlude")
	}
	status := func(cookie string) int { return h.with(http.MethodGet, page, cookie).StatusCode }

	b, first := signIn()
	require.Empty(t, h.with(http.MethodGet, page, first).Cookies())
	h.ahead.Store(int64(16 * time.Minute))
	require.NotEmpty(t, h.with(http.MethodGet, page, first).Cookies(), "renewed")
	b.open(page)
	require.NotEqual(t, first, "__Host-interlude="+b.cookie("__Host-interlude"))
	h.ahead.Store(int64(12*time.Hour + time.Second))
	require.Equal(t, http.StatusUnauthorized, status(first))
	renewed := "__Host-interlude=" + b.cookie("__Host-interlude")
	require.Equal(t, http.StatusUnauthorized, status(renewed), "renewing is no extension")
	h.ahead.Store(0)

	b, copied := signIn()
	b.open(h.url + "/signin/out")
	require.Equal(t, http.StatusOK, status(copied), "a link does not sign out")
	post := func(site string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/signin/out", nil)
		require.NoError(t, err)
		r.Header.Set("Sec-Fetch-Site", site)
		status, _, _ := b.do(r)
		return status
	}
	require.Equal(t, http.StatusForbidden, post("cross-site"))
	require.Equal(t, http.StatusOK, status(copied))
	require.Equal(t, http.StatusOK, post("same-origin"))
	require.Empty(t, b.cookie("__Host-interlude"))
	require.Equal(t, http.StatusUnauthorized, status(copied))

	_, left := signIn()
	require.NoError(t, h.store.EndSessions(t.Context(), "Ada@Example.com", h.now()))
	require.Equal(t, http.StatusUnauthorized, status(left))
	_, again := signIn()
	require.Equal(t, http.StatusOK, status(again), "the provider decides about new ones")
}

// R3: sessions are valid on every node, and after the change of the cookies' keys.
func TestR3NodesShareTheKeys(t *testing.T) {
	l := newLiar(t)
	h := serve(t, func(string) string { return l.url })
	b := h.browser()
	b.open(h.url + "/interlude/")
	cookie := "__Host-interlude=" + b.cookie("__Host-interlude")
	store, err := signin.OpenSQLite(t.Context(), h.db)
	require.NoError(t, err)
	node, err := signin.New(signin.Config{Issuer: l.url, ClientID: "desk", Page: h.url + "/interlude/", Store: store,
		Now: h.now})
	require.NoError(t, err)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/interlude/", nil)
	r.Header.Set("Cookie", cookie)
	actor, err := node.Identify(r)
	require.NoError(t, err)
	require.Equal(t, "ada@example.com", actor.ID)
	keys := func() (n int) {
		require.NoError(t, h.db.QueryRowContext(t.Context(), `SELECT count(*) FROM interlude_signin_keys`).Scan(&n))
		return n
	}
	require.Equal(t, 1, keys())
	h.ahead.Store(int64(30*24*time.Hour + time.Hour))
	h.with(http.MethodGet, h.url+"/signin/start")
	require.Equal(t, 2, keys(), "a new key")
	h.ahead.Store(int64(60*24*time.Hour + 2*time.Hour))
	h.with(http.MethodGet, h.url+"/signin/start")
	require.Equal(t, 2, keys(), "the first is not needed any more")
}

// R3: a configuration with which browsers would lose the cookies, or nothing could be stored, is
// refused.
func TestR3AWrongConfigurationIsRefused(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	store, err := signin.OpenSQLite(t.Context(), db)
	require.NoError(t, err)
	valid := signin.Config{Issuer: "https://id.example.com", ClientID: "desk", Page: "https://desk.example.com/",
		Store: store}
	_, err = signin.New(valid)
	require.NoError(t, err)
	for want, change := range map[string]func(*signin.Config){
		"Config.Store is nil": func(c *signin.Config) { c.Store = nil },
		"want https":          func(c *signin.Config) { c.Page = "http://desk.example.com/" },
		"Config.Page is":      func(c *signin.Config) { c.Page = "desk" },
		"Config.ClientID":     func(c *signin.Config) { c.ClientID = "" },
		"Config.Lifetime is":  func(c *signin.Config) { c.Lifetime = 31 * 24 * time.Hour },
	} {
		cfg := valid
		change(&cfg)
		_, err := signin.New(cfg)
		require.ErrorContains(t, err, want)
	}
}

// timed is a response on a connection with a deadline.
type timed struct {
	*httptest.ResponseRecorder
	set bool
}

func (r *timed) SetReadDeadline(time.Time) error {
	r.set = true
	return nil
}

// L1: a response to a request without a session ends the connection if the request's body never
// arrives.
func TestL1ABodyThatNeverArrivesHoldsNoConnection(t *testing.T) {
	h := serve(t, func(string) string { return "https://127.0.0.1:1" })
	for _, path := range []string{"/interlude/", "/signin/start", "/signin/callback", "/signin/nothing"} {
		w := &timed{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, h.url+path, strings.NewReader("never read"))
		r.Header.Set("Accept", "text/html")
		h.in.Wrap(http.NotFoundHandler()).ServeHTTP(w, r)
		require.True(t, w.set, path)
		require.Equal(t, "close", w.Header().Get("Connection"), path)
	}
}
