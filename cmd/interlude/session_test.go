package main

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/signin"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// provider returns a provider of OpenID Connect that signs everybody in as Ada.
func provider(t *testing.T) *httptest.Server {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	text := base64.RawURLEncoding.EncodeToString
	var nonces sync.Map
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		say := func(what any) { _ = json.NewEncoder(w).Encode(what) }
		switch q := r.URL.Query(); r.URL.Path {
		case "/.well-known/openid-configuration":
			say(map[string]any{"issuer": server.URL, "authorization_endpoint": server.URL + "/auth",
				"token_endpoint": server.URL + "/token", "jwks_uri": server.URL + "/keys"})
		case "/keys":
			say(map[string]any{"keys": []any{map[string]any{"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig",
				"n": text(key.N.Bytes()), "e": text(big.NewInt(int64(key.E)).Bytes())}}})
		case "/auth":
			code := rand.Text()
			nonces.Store(code, q.Get("nonce"))
			back := url.Values{"code": {code}, "state": {q.Get("state")}}
			http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
		case "/token":
			nonce, _ := nonces.Load(r.FormValue("code"))
			claims, _ := json.Marshal(map[string]any{"iss": server.URL, "sub": "7", "aud": "desk", "nonce": nonce,
				"exp": time.Now().Add(time.Hour).Unix(), "email": "ada@example.com",
				"email_verified": true, "groups": []string{"desk"}})
			signed := text([]byte(`{"alg":"RS256","kid":"1"}`)) + "." + text(claims)
			sum := sha256.Sum256([]byte(signed))
			signature, _ := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
			say(map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": signed + "." + text(signature)})
		}
	})
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// R3: on PostgreSQL, session keys and session ends are stored in the database. One node begins
// the sign-in, another completes it, both accept the session, and a sign-out on one node ends the
// session on all.
func TestR3SessionsAreInPostgreSQL(t *testing.T) {
	dsn, issuer := pgtest.DSN(t), provider(t)
	ahead := time.Duration(0)
	var nodes []*signin.SignIn
	for range 2 {
		db, err := sql.Open("pgx", dsn)
		require.NoError(t, err)
		t.Cleanup(func() { db.Close() })
		store, err := signin.OpenPostgreSQL(t.Context(), db)
		require.NoError(t, err)
		node, err := signin.New(signin.Config{Issuer: issuer.URL, ClientID: "desk", Store: store,
			Page: "https://desk.example.com/interlude/", Now: func() time.Time { return time.Now().Add(ahead) },
			Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		nodes = append(nodes, node)
	}
	call := func(node int, method, target string, cookies ...*http.Cookie) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, target, nil)
		for _, c := range cookies {
			r.AddCookie(c)
		}
		w := httptest.NewRecorder()
		nodes[node].Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if actor, err := nodes[node].Identify(r); err != nil || actor.ID != "ada@example.com" {
				w.WriteHeader(http.StatusUnauthorized)
			}
		})).ServeHTTP(w, r)
		return w
	}
	last := func(w *httptest.ResponseRecorder) *http.Cookie { // the last cookie that the response sets
		all := w.Header().Values("Set-Cookie")
		require.NotEmpty(t, all)
		cookie, err := http.ParseSetCookie(all[len(all)-1])
		require.NoError(t, err)
		return cookie
	}
	begun := call(0, http.MethodGet, "/signin/start?to=/interlude/runs")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, begun.Header().Get("Location"), nil)
	require.NoError(t, err)
	sent, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	require.NoError(t, sent.Body.Close())
	ended := call(1, http.MethodGet, sent.Header.Get("Location"), last(begun))
	require.Equal(t, "/interlude/runs", ended.Header().Get("Location"))
	session := last(ended)
	statuses := func() []int {
		return []int{call(0, http.MethodGet, "/interlude/", session).Code,
			call(1, http.MethodGet, "/interlude/", session).Code}
	}
	require.Equal(t, []int{http.StatusOK, http.StatusOK}, statuses())
	replayed := call(0, http.MethodGet, sent.Header.Get("Location"), last(begun))
	require.Equal(t, http.StatusBadRequest, replayed.Code)
	require.Equal(t, http.StatusOK, call(0, http.MethodPost, "/signin/out", session).Code)
	ahead = time.Minute // the other node's cached rows expire
	require.Equal(t, []int{http.StatusUnauthorized, http.StatusUnauthorized}, statuses())
}
