package web_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
)

type ctx = context.Context

// routes are all routes of the API, each with a request that would act on the asking run r.
var routes = []struct {
	method, path, body string
	open               bool // to every known caller
}{
	{"GET", "/me", "", true},
	{"GET", "/openapi.json", "", true},
	{"POST", "/render", `{"texts":["*a*"]}`, true},
	{"POST", "/diff", `{"pairs":[{"before":"a","after":"b"}]}`, true},
	{"GET", "/runs", "", false},
	{"GET", "/runs/r", "", false},
	{"GET", "/runs/r/questions", "", false},
	{"GET", "/runs/r/questions/1", "", false},
	{"GET", "/runs/r/history", "", false},
	{"GET", "/runs/r/inherited", "", false},
	{"GET", "/runs/r/usage", "", false},
	{"GET", "/runs/r/events", "", false},
	{"GET", "/inbox", "", false},
	{"GET", "/inbox/count", "", false},
	{"GET", "/inbox/events", "", false},
	{"GET", "/answers", "", false},
	{"GET", "/stats", "", false},
	{"GET", "/feeds", "", false},
	{"POST", "/feeds/f/next", `{"wait_sec":1}`, false},
	{"GET", "/notices/dead", "", false},
	{"POST", "/notices/resend", `{"endpoint":"e","id":"r/1"}`, false},
	{"POST", "/runs", `{"prompt":"Another."}`, false},
	{"POST", "/runs/r/fork", `{"reply":"no"}`, false},
	{"POST", "/runs/r/questions/1/reply", `{"text":"yes"}`, false},
	{"POST", "/runs/r/questions/1/notes", `{"text":"Ask Eve."}`, false},
	{"POST", "/runs/r/questions/1/claim", `{"seconds":60}`, false},
	{"POST", "/runs/r/questions/1/release", "", false},
	{"POST", "/runs/r/questions/1/reassign", `{"to":{"users":["eve"]}}`, false},
	{"POST", "/runs/r/questions/1/extend", `{"until":"2099-01-01T00:00:00Z"}`, false},
	{"POST", "/runs/r/cancel", "", false},
	{"POST", "/runs/r/resume", `{"choice":"end"}`, false},
}

// request sends one request to a handler without a server.
func request(h http.Handler, method, path, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost/interlude/api"+path, bytes.NewBufferString(body))
	r.RemoteAddr = "127.0.0.1:40000"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if change != nil {
		change(r)
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec
}

func clientOf(t *testing.T) *lifecycle.Client {
	t.Helper()
	st := memory.New()
	require.NoError(t, st.SetPool(t.Context(), lifecycle.Pool{Name: lifecycle.DefaultPool, Capacity: 1}))
	c, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: st})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// sameOrigin is a page's own request that a proxy has forwarded with another Host.
func sameOrigin(origin string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Origin", origin)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
}

func TestL1WithoutIdentifyOnlyThisMachineIsServedAndTheLogSaysSo(t *testing.T) {
	var log bytes.Buffer
	h := web.Handler(clientOf(t), web.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.Contains(t, log.String(), "only requests from this machine are served")
	require.Contains(t, request(h, "GET", "/me", "", nil).Body.String(), `"id":"local"`)
	for name, change := range map[string]func(*http.Request){
		"another machine":          func(r *http.Request) { r.RemoteAddr = "203.0.113.7:40000" },
		"no address":               func(r *http.Request) { r.RemoteAddr = "@" },
		"a rebound name":           func(r *http.Request) { r.Host = "evil.example" },
		"another address":          func(r *http.Request) { r.Host = "203.0.113.7:80" },
		"a proxy on this machine":  func(r *http.Request) { r.Header.Set("X-Forwarded-For", "203.0.113.7") },
		"a standard proxy header":  func(r *http.Request) { r.Header.Set("Forwarded", "for=203.0.113.7") },
		"any proxy header":         func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "") },
		"an older proxy header":    func(r *http.Request) { r.Header.Set("X-Cluster-Client-Ip", "203.0.113.7") },
		"an ingress":               func(r *http.Request) { r.Header.Set("X-Original-Forwarded-For", "203.0.113.7") },
		"nginx without settings":   func(r *http.Request) { r.Proto, r.ProtoMinor, r.Close = "HTTP/1.0", 0, true },
		"a browser at a proxy":     sameOrigin("https://desk.example.com"),
		"a null origin":            sameOrigin("null"),
		"no host":                  func(r *http.Request) { r.Host = "" },
		"an invalid host":          func(r *http.Request) { r.Host = "[::1" + ".evil.example]" },
		"a subdomain of localhost": func(r *http.Request) { r.Host = "localhost.evil.example" },
	} {
		rec := request(h, "POST", "/runs", `{"prompt":"x"}`, change)
		require.Equal(t, http.StatusUnauthorized, rec.Code, name)
		require.Contains(t, rec.Body.String(), "LOOPBACK_ONLY", name)
	}
	require.Equal(t, 1, strings.Count(log.String(), "set Options.Identify"))
	for _, host := range []string{"localhost", "LOCALHOST:8080", "127.0.0.1:8080", "[::1]:8080", "[::1]"} {
		rec := request(h, "GET", "/me", "", func(r *http.Request) { r.Host = host })
		require.Equal(t, http.StatusOK, rec.Code, host)
	}
	rec := request(h, "GET", "/me", "", func(r *http.Request) { r.RemoteAddr = "[::ffff:127.0.0.1]:1" })
	require.Equal(t, http.StatusOK, rec.Code)
}

// L1: without an ID, the Actor would be the zero Actor: the host itself, which may do everything.
func TestL1WhoeverTheHostDoesNotKnowIsRefused(t *testing.T) {
	client := clientOf(t)
	for _, actor := range []lifecycle.Actor{{}, {Via: "web"}, {Groups: []string{"ops"}}} {
		identify := func(*http.Request) (lifecycle.Actor, error) { return actor, nil }
		h := web.Handler(client, web.Options{Identify: identify, Logger: slog.New(slog.DiscardHandler)})
		for _, c := range routes {
			rec := request(h, c.method, c.path, c.body, nil)
			require.Equal(t, http.StatusUnauthorized, rec.Code, "%s %s", c.method, c.path)
		}
	}
	page, err := client.Runs(t.Context(), lifecycle.Query{})
	require.NoError(t, err)
	require.Empty(t, page.Runs)
}

func TestL2ReadingChangesNothingOnAnyRoute(t *testing.T) {
	w := openFor(t)
	w.submit("r", "Ship?", "ada")
	snapshot := func() (lifecycle.Run, []lifecycle.Record, int) {
		run, err := w.lc.Get(t.Context(), "r")
		require.NoError(t, err)
		history, err := w.lc.History(t.Context(), "r")
		require.NoError(t, err)
		page, err := w.lc.Runs(t.Context(), lifecycle.Query{})
		require.NoError(t, err)
		return run, history, len(page.Runs)
	}
	run, history, runs := snapshot()
	for _, c := range routes {
		if strings.HasSuffix(c.path, "/events") { // streams end with the run, or never; HEAD is tested below
			continue
		}
		for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
			a := w.send(method, c.path, "bob", c.body)
			require.Less(t, a.status, 500, "%s %s", method, c.path)
			if c.method == "POST" && c.path != "/runs" && method != "OPTIONS" {
				require.Equal(t, http.StatusMethodNotAllowed, a.status, "%s %s", method, c.path)
			}
		}
	}
	require.Equal(t, http.StatusOK, w.send("HEAD", "/runs/r/events", "bob", "").status)
	require.Equal(t, http.StatusOK, w.send("HEAD", "/inbox/events", "bob", "").status)
	gotRun, gotHistory, gotRuns := snapshot()
	require.Equal(t, run, gotRun)
	require.Equal(t, history, gotHistory)
	require.Equal(t, runs, gotRuns)
}

func TestL2APageOfAnotherSiteChangesNothing(t *testing.T) {
	client := clientOf(t)
	known := func(*http.Request) (lifecycle.Actor, error) { return lifecycle.Actor{ID: "ada"}, nil }
	h := web.Handler(client, web.Options{Identify: known, Origins: []string{"https://desk.example.com"}})
	from := func(origin, site string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Set("Origin", origin)
			r.Header.Set("Sec-Fetch-Site", site)
		}
	}
	for _, c := range routes {
		if c.method != "POST" {
			continue
		}
		for _, change := range []func(*http.Request){
			from("https://evil.example", "cross-site"), from("https://evil.localhost", "same-site"),
			from("https://evil.example", ""), from("null", ""), from("", "cross-site"),
		} {
			rec := request(h, c.method, c.path, c.body, change)
			require.Equal(t, http.StatusForbidden, rec.Code, "%s %s", c.method, c.path)
			require.Contains(t, rec.Body.String(), "CROSS_ORIGIN")
			require.Empty(t, rec.Header().Get("Access-Control-Allow-Origin"))
		}
	}
	page, err := client.Runs(t.Context(), lifecycle.Query{})
	require.NoError(t, err)
	require.Empty(t, page.Runs)

	rec := request(h, "OPTIONS", "/runs", "", from("https://desk.example.com", "cross-site"))
	require.Equal(t, http.StatusNoContent, rec.Code)
	require.Equal(t, "https://desk.example.com", rec.Header().Get("Access-Control-Allow-Origin"))
	rec = request(h, "POST", "/runs", `{"prompt":"x"}`, from("https://desk.example.com", "cross-site"))
	require.Equal(t, http.StatusCreated, rec.Code, "%s", rec.Body)
	require.Equal(t, "https://desk.example.com", rec.Header().Get("Access-Control-Allow-Origin"))
	rec = request(h, "POST", "/runs", `{"prompt":"x"}`, from("http://localhost", "same-origin"))
	require.Equal(t, http.StatusCreated, rec.Code, "%s", rec.Body)
}

func TestL2EveryResponseForbidsScriptsInItsTextAndSharedCaches(t *testing.T) {
	h := web.Handler(clientOf(t), web.Options{})
	for _, path := range []string{"/me", "/runs/r", "/openapi.json", "/../", "/../style.css", "/nowhere"} {
		header := request(h, "GET", path, "", nil).Header()
		require.Contains(t, header.Get("Content-Security-Policy"), "default-src 'self'", path)
		require.NotContains(t, header.Get("Content-Security-Policy"), "unsafe", path)
		require.Contains(t, header.Get("Cache-Control"), "private", path)
		require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"), path)
	}
}

func TestL1TheHandlerWorksUnderAnyPrefix(t *testing.T) {
	client := clientOf(t)
	for prefix, path := range map[string]string{"": "/interlude", "/": "", "/a/b": "/a/b", "/a/b/": "/a/b"} {
		h := web.Handler(client, web.Options{Prefix: prefix})
		for _, below := range []string{"/", "/style.css", "/api/me", "/api/openapi.json"} {
			r := httptest.NewRequest(http.MethodGet, "http://localhost"+path+below, nil)
			r.RemoteAddr = "127.0.0.1:1"
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, r)
			require.Equal(t, http.StatusOK, rec.Code, path+below)
		}
	}
	require.Panics(t, func() { web.Handler(client, web.Options{Prefix: "interlude"}) })
	require.Panics(t, func() { web.Handler(client, web.Options{Origins: []string{"example.com"}}) })
	require.Panics(t, func() { web.Handler(nil, web.Options{}) })
}

// L1, J10: a host function that exits its goroutine does not count as success.
func TestL1AnIdentifyOrPrepareThatEndsItsGoroutineIsAProblem(t *testing.T) {
	ada := func(*http.Request) (lifecycle.Actor, error) { return lifecycle.Actor{ID: "ada"}, nil }
	for name, opts := range map[string]web.Options{
		"Identify": {Identify: func(*http.Request) (lifecycle.Actor, error) {
			runtime.Goexit()
			return lifecycle.Actor{}, nil
		}},
		"Prepare": {Identify: ada, Prepare: func(*http.Request, *lifecycle.Spec) error {
			runtime.Goexit()
			return nil
		}},
	} {
		opts.Logger = slog.New(slog.DiscardHandler)
		server := httptest.NewServer(web.Handler(clientOf(t), opts))
		defer server.Close()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/interlude/api/runs",
			strings.NewReader(`{"prompt":"x"}`))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err, name)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err, name)
		res.Body.Close()
		require.Equal(t, http.StatusInternalServerError, res.StatusCode, name)
		require.Contains(t, string(body), `"INTERNAL"`, name)
	}
}

func TestL2APanicOfTheHostsIsAProblem(t *testing.T) {
	h := web.Handler(clientOf(t), web.Options{Logger: slog.New(slog.DiscardHandler),
		Identify: func(*http.Request) (lifecycle.Actor, error) { panic("the table of sessions does not exist") }})
	rec := request(h, "GET", "/me", "", nil)
	require.Equal(t, http.StatusInternalServerError, rec.Code)
	require.NotContains(t, rec.Body.String(), "table")
}
