package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// R3: with a provider in the file, a browser is redirected to the sign-in, and programs get 401 or
// use a token of interlude token, whose scope counts. (host/signin tests the sign-in itself.)
func TestR3ServeRedirectsBrowsersAndAcceptsTokens(t *testing.T) {
	db := filepath.Join(t.TempDir(), "runs.db")
	require.Zero(t, called(t, "", "migrate", "-db", db).status)
	said, stop := serveFile(t, `{"listen": "127.0.0.1:0", "agents": {"demo": {"agent": "demo"}},
		"page": "http://127.0.0.1:8080/interlude/",
		"sign_in": {"openid": {"issuer": "http://127.0.0.1:1", "client_id": "desk"}}}`, "INTERLUDE_DB="+db)
	defer stop()
	call := func(method, path, token, accept string) (int, http.Header) {
		r, err := http.NewRequestWithContext(t.Context(), method, said.Page+path, strings.NewReader(`{"prompt": "x"}`))
		require.NoError(t, err)
		r.Header.Set("Accept", accept)
		r.Header.Set("Content-Type", "application/json")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := http.DefaultTransport.RoundTrip(r)
		require.NoError(t, err)
		response.Body.Close()
		return response.StatusCode, response.Header
	}
	status, header := call(http.MethodGet, "?run=x", "", "text/html")
	require.Equal(t, http.StatusFound, status)
	require.Equal(t, "/signin/start?to=%2Finterlude%2F%3Frun%3Dx", header.Get("Location"))
	status, header = call(http.MethodGet, "api/inbox", "", "application/json")
	require.Equal(t, http.StatusUnauthorized, status)
	require.Empty(t, header.Get("WWW-Authenticate"), "no dialog in browsers")

	var made struct{ ID, Token string }
	created := called(t, "", "token", "create", "-db", db, "-json", "-scope", "view", "-group", "bots", "CI")
	require.Zero(t, created.status, created.side)
	require.NoError(t, json.Unmarshal([]byte(created.out), &made))
	// The server may have read the tokens just before.
	answers := func(want int) {
		t.Helper()
		require.Eventually(t, func() bool {
			status, _ := call(http.MethodGet, "api/inbox", made.Token, "")
			return status == want
		}, patience, 50*time.Millisecond)
	}
	answers(http.StatusOK)
	status, _ = call(http.MethodPost, "api/runs", made.Token, "")
	require.Equal(t, http.StatusForbidden, status)
	listed := called(t, "", "token", "list", "-db", db)
	require.Contains(t, listed.out, made.ID)
	require.NotContains(t, listed.out, made.Token)
	require.Zero(t, called(t, "", "token", "revoke", "-db", db, made.ID).status)
	answers(http.StatusUnauthorized)
	require.Equal(t, 4, called(t, "", "token", "revoke", "-db", db, made.ID).status)

	created = called(t, "", "token", "create", "-db", db, "-json", "-scope", "view", "Ada@example.com")
	require.NoError(t, json.Unmarshal([]byte(created.out), &made))
	answers(http.StatusOK)
	require.Zero(t, called(t, "", "token", "leave", "-db", db, "ada@Example.com").status, "another spelling")
	answers(http.StatusUnauthorized)
	require.Equal(t, misused, called(t, "", "token", "create", "-db", db).status)
	require.Equal(t, misused, called(t, "", "token", "list", "-db", db+"x").status)
	_, err := os.Stat(db + "x.notices")
	require.ErrorIs(t, err, os.ErrNotExist)
}
