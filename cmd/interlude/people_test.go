package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/signin"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
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

// R3: on PostgreSQL the tables of the sign-in are in the runs' database. Processes that start at the
// same time create them once, and each sees the others' tokens and ends of sessions.
func TestR3TheSignInUsesPostgreSQL(t *testing.T) {
	dsn := pgtest.DSN(t)
	require.Zero(t, called(t, "", "migrate", "-db", dsn).status)
	stores := make([]*signin.Store, 4)
	var starts errgroup.Group
	for i := range stores {
		starts.Go(func() error {
			db, err := sql.Open("pgx", dsn)
			if err == nil {
				t.Cleanup(func() { db.Close() })
				stores[i], err = signin.OpenPostgreSQL(t.Context(), db)
			}
			return err
		})
	}
	require.NoError(t, starts.Wait())
	var made struct{ ID, Token string }
	create := func(person string) {
		created := called(t, "", "token", "create", "-db", dsn, "-json", "-scope", "answer", "-group", "desk", person)
		require.Zero(t, created.status, created.side)
		require.NoError(t, json.Unmarshal([]byte(created.out), &made))
	}
	now := time.Now()
	valid := func() (all []bool) {
		now = now.Add(time.Minute) // the rows that a process has cached expire
		for _, store := range stores {
			token, err := store.Token(t.Context(), made.Token, now)
			require.True(t, err != nil || token.Person != "" && token.Scope == signin.ScopeAnswer)
			all = append(all, err == nil)
		}
		return all
	}
	create("CI")
	require.Equal(t, []bool{true, true, true, true}, valid())
	require.Contains(t, called(t, "", "token", "list", "-db", dsn).out, made.ID)
	require.Zero(t, called(t, "", "token", "revoke", "-db", dsn, made.ID).status)
	require.Equal(t, make([]bool, 4), valid())
	create("Ada@example.com")
	for range 2 { // the second changes the time of the first
		require.Zero(t, called(t, "", "token", "leave", "-db", dsn, "ada@EXAMPLE.com").status)
	}
	require.Equal(t, make([]bool, 4), valid())
}

// N10: serve reads a directory over HTTP, and folds its names as the sign-in does.
func TestN10ServeReadsASCIMDirectory(t *testing.T) {
	directory := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer scim":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/v2/Users":
			_, _ = io.WriteString(w, `{"totalResults": 2, "Resources": [{"id": "1", "userName": "Ann",
				"urn:interlude:params:scim:schemas:extension:deputies:1.0:User": {"deputies": [{"value": "2"}]}},
				{"id": "2", "userName": "BOB"}]}`)
		case r.URL.Path == "/v2/Groups":
			_, _ = io.WriteString(w, `{"totalResults": 0}`)
		}
	}))
	defer directory.Close()
	said, stop := serveFile(t, `{"listen": "127.0.0.1:0", "agents": {"demo": {"agent": "demo"}},
		"scim": {"url": "`+directory.URL+`/v2", "token_env": "SCIM_TOKEN", "allow": ["127.0.0.1/32"], "plain_http": true},
		"sign_in": {"proxy": {"from": ["127.0.0.1/32"], "user_header": "X-User", "hosts": ["desk.example.com"]}}}`,
		"SCIM_TOKEN=scim", "INTERLUDE_DB="+filepath.Join(t.TempDir(), "runs.db"))
	defer stop()
	call := func(person, method, path, body string) string {
		r, err := http.NewRequestWithContext(t.Context(), method, said.Page+"api/"+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-User", person)
		r.Host = "desk.example.com"
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return string(text)
	}
	text := call("carl", http.MethodPost, "runs", `{"id": "r", "prompt": "x", "ask": {"to": {"users": ["Ann"]}}}`)
	require.Contains(t, text, `"id":"r"`)
	require.Eventually(t, func() bool {
		return strings.Contains(call("ann", http.MethodGet, "inbox", ""), `"may_reply":true`)
	}, patience, 50*time.Millisecond)
	require.Contains(t, call("Bob", http.MethodGet, "inbox", ""), `"for":"ann"`)
}

// R3, N10: one command revokes the access of a person who leaves: tokens, including tokens in the
// configuration file; claims; and deputyships of and for the person. It does not change the
// directory's file.
func TestR3LeavingIsOneCommand(t *testing.T) {
	dir := t.TempDir()
	db, names := filepath.Join(dir, "runs.db"), filepath.Join(dir, "people.yaml")
	require.NoError(t, os.WriteFile(names, []byte("people:\n  - id: ann\n    deputies: [{id: bob}]\n"), 0o600))
	require.Zero(t, called(t, "", "migrate", "-db", db).status)
	entry := func(user string) string { return `{"user": "` + user + `", "sha256": "` + hashOf(user) + `"}` }
	said, stop := serveFile(t, `{"listen": "127.0.0.1:0", "agents": {"demo": {"agent": "demo"}}, "directory": "`+names+`",
		"sign_in": {"stored_tokens": true, "tokens": [`+entry("ann")+`, `+entry("bob")+`, `+entry("carl")+`]}}`,
		"INTERLUDE_DB="+db)
	defer stop()
	call := func(token, method, path, body string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, said.Page+"api/"+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(text)
	}
	until := func(token, path string, want int, text string) {
		t.Helper()
		require.Eventually(t, func() bool { // a host may have cached the tables up to five seconds ago
			status, body := call(token, http.MethodGet, path, "")
			return status == want && strings.Contains(body, text)
		}, patience, 50*time.Millisecond)
	}
	status, text := call("carl", http.MethodPost, "runs", `{"id": "r", "prompt": "x", "ask": {"to": {"users": ["ann"]}}}`)
	require.Equal(t, http.StatusCreated, status, text)
	until("bob", "inbox", http.StatusOK, `"for":"ann"`)
	status, text = call("bob", http.MethodPost, "runs/r/questions/1/claim", `{"seconds": 3600, "for": "ann"}`)
	require.Equal(t, http.StatusNoContent, status, text)
	created := called(t, "", "token", "create", "-db", db, "-json", "-scope", "view", "bob")
	require.Zero(t, created.status, created.side)
	var made struct{ Token string }
	require.NoError(t, json.Unmarshal([]byte(created.out), &made))
	until(made.Token, "inbox", http.StatusOK, "")

	left := called(t, "", "token", "leave", "-db", db, "Bob")
	require.Zero(t, left.status, left.side)
	until("bob", "inbox", http.StatusForbidden, "NOT_ALLOWED")
	until(made.Token, "inbox", http.StatusUnauthorized, "")
	status, text = call("bob", http.MethodPost, "runs/r/questions/1/reply", `{"text": "1", "for": "ann"}`)
	require.Equal(t, http.StatusForbidden, status, text)
	require.NotContains(t, called(t, "", "inbox", "-db", db, "-json").out, `"claim"`)
	again := called(t, "", "token", "create", "-db", db, "bob")
	require.Equal(t, 4, again.status)
	require.Contains(t, again.side, "interlude token return bob")

	require.Zero(t, called(t, "", "token", "return", "-db", db, "bob").status)
	until("bob", "inbox", http.StatusOK, `"for":"ann"`)
	require.Zero(t, called(t, "", "token", "leave", "-db", db, "ann").status)
	until("bob", "inbox", http.StatusOK, `"questions":[]`)
	require.Equal(t, 4, called(t, "", "token", "return", "-db", db, "carl").status)
}

// bobForAnn makes Bob the deputy of Ann.
type bobForAnn struct{}

func (bobForAnn) Principals(context.Context, string, time.Time) ([]lifecycle.Principal, error) {
	return []lifecycle.Principal{{ID: "ann"}}, nil
}

// N10: the claims of a person who leaves end, and claims for them; others last.
func TestN10TheClaimsOfAPersonWhoLeavesEnd(t *testing.T) {
	lc, err := lifecycle.New(lifecycle.Config{Directory: bobForAnn{}, Store: memory.New(), Engine: engine.Func(
		func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
			return engine.Ask(engine.Question{Prompt: "Which?"}), nil
		})})
	require.NoError(t, err)
	defer lc.Close()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	until := time.Now().Add(time.Hour)
	for id, who := range map[string]lifecycle.Actor{"ann": {ID: "ann"}, "bob": {ID: "bob", For: "ann"},
		"carl": {ID: "carl"}} {
		_, err := lc.Submit(ctx, lifecycle.Spec{ID: id, Prompt: "x"})
		require.NoError(t, err)
		for event, err := range lc.Events(ctx, id, 0) {
			require.NoError(t, err)
			if event.Type == lifecycle.TypeInputRequired {
				break
			}
		}
		require.NoError(t, lc.As(who).Claim(ctx, id, 1, until))
	}
	require.NoError(t, endClaims(ctx, lc.Client, "Ann"))
	for id, claimed := range map[string]bool{"ann": false, "bob": false, "carl": true} {
		q, err := lc.Pending(ctx, id)
		require.NoError(t, err)
		require.Equal(t, claimed, q.Claim.Lasts(lc.Now()), id)
	}
	stop()
	require.NoError(t, <-served)
}

// N9, N10: the decisions of a person who leaves are forgotten in every run, others are not.
func TestN9TheMemoriesOfAPersonWhoLeavesEnd(t *testing.T) {
	lc, err := lifecycle.New(lifecycle.Config{Remember: time.Hour, Store: memory.New(), Engine: engine.Func(
		func(_ context.Context, turn engine.Turn, _ engine.Sink) (engine.Outcome, error) {
			tool := "pay"
			if len(turn.Answers) > 0 {
				tool = "mail"
			}
			return engine.Ask(engine.Question{Kind: lifecycle.Approval, Prompt: "Go on?",
				Subject: &engine.Subject{Tool: tool}}), nil
		})})
	require.NoError(t, err)
	defer lc.Close()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	for _, who := range []string{"ann", "bob"} {
		_, err := lc.Submit(ctx, lifecycle.Spec{ID: who, Prompt: "x"})
		require.NoError(t, err)
		asked := 0
		for event, err := range lc.Events(ctx, who, 0) {
			require.NoError(t, err)
			if event.Type != lifecycle.TypeInputRequired {
				continue
			}
			if asked++; asked == 2 {
				break
			}
			remember := &lifecycle.Remember{Until: lc.Now().Add(time.Minute)}
			_, err := lc.As(lifecycle.Actor{ID: who}).Reply(ctx, who, lifecycle.Reply{ID: 1,
				Decision: lifecycle.Approve, Remember: remember})
			require.NoError(t, err)
		}
	}
	require.NoError(t, endMemories(ctx, lc.Client, "Ann"))
	for who, remembered := range map[string]int{"ann": 0, "bob": 1} {
		run, err := lc.Get(ctx, who)
		require.NoError(t, err)
		require.Len(t, run.Remembered, remembered)
	}
	stop()
	require.NoError(t, <-served)
}
