package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// everything permits all of mayActions.
const everything = 1<<17 - 1

// mayActions are the bits of a fuzzer input that say what ada may do. Other people may do nothing.
var mayActions = []lifecycle.Action{
	lifecycle.ActionSubmit, lifecycle.ActionView, lifecycle.ActionList, lifecycle.ActionReply, lifecycle.ActionCancel,
	lifecycle.ActionResume, lifecycle.ActionExtend, lifecycle.ActionClaim, lifecycle.ActionRelease,
	lifecycle.ActionReassign, lifecycle.ActionOverrule, lifecycle.ActionFork, lifecycle.ActionStats,
	lifecycle.ActionFeed, lifecycle.ActionRemember, lifecycle.ActionForget,
	lifecycle.ActionNote,
}

// writes are the actions that allow a route to write, by the last part of its path.
var writes = map[string][]lifecycle.Action{
	"runs": {lifecycle.ActionSubmit}, "fork": {lifecycle.ActionFork}, "reply": {lifecycle.ActionReply},
	"claim": {lifecycle.ActionClaim}, "release": {lifecycle.ActionRelease, lifecycle.ActionOverrule},
	"forget":   {lifecycle.ActionForget},
	"notes":    {lifecycle.ActionNote},
	"reassign": {lifecycle.ActionReassign, lifecycle.ActionOverrule}, "extend": {lifecycle.ActionExtend},
	"cancel": {lifecycle.ActionCancel}, "resume": {lifecycle.ActionResume}, "next": {lifecycle.ActionFeed},
}

// Words that must not be shown: from the runs, and from a broken store.
const (
	secretWord = "Nightingale"
	brokenWord = "Vulture"
)

// grant is a call that Authorize allowed.
type grant struct {
	action lifecycle.Action
	run    string
}

// guard is a store that records grants and writes, and breaks on request.
type guard struct {
	*memory.Store

	mu      sync.Mutex
	may     uint32         // guarded by mu; see mayActions
	calls   int            // guarded by mu; calls until the store breaks; below 0: never
	broken  bool           // guarded by mu
	grants  []grant        // guarded by mu
	written []store.Commit // guarded by mu
}

var errBroken = errors.New("disk " + brokenWord + " has gone")

// call counts a call; from the breaking point on it fails.
func (g *guard) call() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls--; g.calls == 0 {
		g.broken = true
	}
	if g.broken {
		return errBroken
	}
	return nil
}

// Authorize allows ada the actions of the input.
func (g *guard) Authorize(_ context.Context, a lifecycle.Access) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if bit := slices.Index(mayActions, a.Action); a.Actor.ID != "ada" || bit < 0 || g.may>>bit&1 == 0 {
		return errors.New("not for you")
	}
	given := grant{action: a.Action}
	if a.Run != nil {
		given.run = a.Run.ID
	}
	g.grants = append(g.grants, given)
	return nil
}

// Commit stores first and then breaks, so a write may be stored without an acknowledgement.
func (g *guard) Commit(ctx context.Context, batch []store.Commit) []error {
	errs := g.Store.Commit(ctx, batch)
	broken := g.call()
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range batch {
		if errs[i] == nil {
			g.written = append(g.written, batch[i])
		}
		if broken != nil {
			errs[i] = broken
		}
	}
	return errs
}

func (g *guard) Run(ctx context.Context, id string) (store.Run, error) {
	if err := g.call(); err != nil {
		return store.Run{}, err
	}
	return g.Store.Run(ctx, id)
}

func (g *guard) Spec(ctx context.Context, id string) ([]byte, error) {
	if err := g.call(); err != nil {
		return nil, err
	}
	return g.Store.Spec(ctx, id)
}

func (g *guard) Runs(ctx context.Context, q store.Query) (store.Page, error) {
	if err := g.call(); err != nil {
		return store.Page{}, err
	}
	return g.Store.Runs(ctx, q)
}

func (g *guard) Waiting(ctx context.Context, q store.WaitingQuery) (store.Page, error) {
	if err := g.call(); err != nil {
		return store.Page{}, err
	}
	return g.Store.Waiting(ctx, q)
}

func (g *guard) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	if err := g.call(); err != nil {
		return nil, err
	}
	return g.Store.Events(ctx, id, after, limit)
}

func (g *guard) History(ctx context.Context, id string, q store.HistoryQuery) (store.Run, []interaction.Record, error) {
	if err := g.call(); err != nil {
		return store.Run{}, nil, err
	}
	return g.Store.History(ctx, id, q)
}

func (g *guard) Settled(ctx context.Context, id, key string) (interaction.Record, error) {
	if err := g.call(); err != nil {
		return interaction.Record{}, err
	}
	return g.Store.Settled(ctx, id, key)
}

func (g *guard) Interaction(ctx context.Context, id string, number int) (interaction.Record, error) {
	if err := g.call(); err != nil {
		return interaction.Record{}, err
	}
	return g.Store.Interaction(ctx, id, number)
}

func (g *guard) Confirm(ctx context.Context, read func(store.Reader) error) error {
	if err := g.call(); err != nil {
		return err
	}
	return g.Store.Confirm(ctx, read)
}

func (g *guard) Survey(ctx context.Context, now time.Time) (store.Survey, error) {
	if err := g.call(); err != nil {
		return store.Survey{}, err
	}
	return g.Store.Survey(ctx, now)
}

// reset prepares the guard for the next request.
func (g *guard) reset(may uint32, breaks uint8) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.may, g.calls, g.broken, g.grants, g.written = may, int(breaks), false, nil, nil
	if breaks == 0 {
		g.calls = -1
	}
}

// guarded is a handler with runs in each state: r asks for a text, form for a form, approval for an
// approval, done has ended, held is held, and queued waits for its start time.
type guarded struct {
	*guard

	client   *lifecycle.Client
	frontEnd http.Handler
}

func openGuarded(tb testing.TB) *guarded {
	tb.Helper()
	quiet := slog.New(slog.DiscardHandler)
	st := memory.New()
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Forgiving: true, Logger: quiet, Engine: engine.Func(
		func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
			if t.Prompt == "held" {
				return engine.Outcome{}, engine.Hold(engine.CodeEngineFailed, "no quota")
			}
			return asker(ctx, t, s)
		})})
	require.NoError(tb, err)
	defer lc.Close()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	for id, prompt := range map[string]string{"r": "Ship " + secretWord + "?", "form": "form", "approval": "approval",
		"done": "nothing", "held": "held"} {
		_, err := lc.Submit(ctx, lifecycle.Spec{ID: id, Prompt: prompt})
		require.NoError(tb, err)
		for ev, err := range lc.Events(ctx, id, 0) {
			require.NoError(tb, err)
			if ev.Type == lifecycle.TypeInputRequired || ev.Type == "turn.yielded" {
				break
			}
		}
	}
	_, err = lc.Submit(ctx, lifecycle.Spec{ID: "queued", Prompt: "Later.", NotBefore: time.Now().Add(time.Hour)})
	require.NoError(tb, err)
	cancel()
	require.NoError(tb, <-served)

	g := &guarded{guard: &guard{Store: st}}
	g.client, err = lifecycle.NewClient(lifecycle.ClientConfig{Store: g.guard, Logger: quiet, Authorize: g.Authorize})
	require.NoError(tb, err)
	g.frontEnd = web.Handler(g.client, web.Options{Logger: quiet, MaxBody: 64 << 10, Identify: identify,
		Heartbeat: time.Millisecond, Origins: []string{"https://desk.example.com"}})
	return g
}

// recorder records a response. A stream ends after a few texts.
type recorder struct {
	*httptest.ResponseRecorder

	texts int
	end   context.CancelFunc
}

func (r *recorder) Flush() {
	if r.texts++; r.texts == 4 {
		r.end()
	}
}

func (r *recorder) SetWriteDeadline(time.Time) error { return nil }

// fuzzed is a request drawn by the fuzzer.
type fuzzed struct {
	method, target, headers, body string
	may                           uint32
	breaks                        uint8
}

// read parses the request as a server would; nil if it never reaches a handler.
func (f *fuzzed) read() *http.Request {
	if strings.ContainsAny(f.method+f.target, "\r\n ") {
		return nil
	}
	head := f.method + " " + f.target + " HTTP/1.1\r\nHost: localhost\r\n" + strings.ReplaceAll(f.headers, "\n", "\r\n")
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head + "\r\n\r\n")))
	if err != nil {
		return nil
	}
	r.Body, r.ContentLength, r.RemoteAddr = io.NopCloser(strings.NewReader(f.body)), int64(len(f.body)), "127.0.0.1:1"
	return r
}

// serve makes the request, and returns what is wrong with the response or the writes.
func (g *guarded) serve(f *fuzzed) error {
	r := f.read()
	if r == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	g.reset(f.may, f.breaks)
	rec := &recorder{ResponseRecorder: httptest.NewRecorder(), end: cancel}
	g.frontEnd.ServeHTTP(rec, r.WithContext(ctx))
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.judgeResponse(r, rec.Result(), rec.Body.Bytes()); err != nil {
		return err
	}
	return g.judgeWrites(r, rec.Code)
}

// judgeResponse needs mu.
func (g *guarded) judgeResponse(r *http.Request, res *http.Response, body []byte) error {
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	switch {
	case res.StatusCode >= 500 && !g.broken:
		return fmt.Errorf("status %d although the store works: %s", res.StatusCode, body)
	case bytes.Contains(body, []byte(brokenWord)):
		return fmt.Errorf("the store's error is shown: %s", body)
	case len(g.grants) == 0 && bytes.Contains(body, []byte(secretWord)):
		return fmt.Errorf("shown without permission: %s", body)
	case res.Header.Get("X-Content-Type-Options") != "nosniff" || res.Header.Get("Content-Security-Policy") == "":
		return errors.New("the security headers are missing")
	case strings.HasSuffix(kind, "json") && r.Method != http.MethodHead && !json.Valid(body):
		return fmt.Errorf("invalid JSON: %s", body)
	case kind == "application/problem+json" && r.Method != http.MethodHead:
		var p web.Problem
		if err := json.Unmarshal(body, &p); err != nil || p.Code == "" || p.Status != res.StatusCode {
			return fmt.Errorf("a problem without a code, or with a status different from %d: %s", res.StatusCode, body)
		}
	case res.StatusCode >= 400:
		return fmt.Errorf("%d without a problem: %s", res.StatusCode, body)
	}
	return nil
}

// judgeWrites needs mu.
func (g *guarded) judgeWrites(r *http.Request, status int) error {
	if site := r.Header.Get("Sec-Fetch-Site"); len(g.written) > 0 {
		origin := r.Header.Get("Origin")
		switch {
		case r.Method != http.MethodPost:
			return fmt.Errorf("%s has written", r.Method)
		case (site == "cross-site" || site == "same-site") && origin != "https://desk.example.com":
			return fmt.Errorf("a page of another site (%s, %q) has written", site, origin)
		case status >= 400 && !g.broken:
			return fmt.Errorf("a request refused with %d has written", status)
		}
	} else if status == http.StatusCreated {
		return errors.New("status 201 without a write")
	}
	for i := range g.written {
		c := &g.written[i]
		about := c.Run.ID
		if c.Run.ForkedFrom != nil && c.Expect == 0 {
			about = c.Run.ForkedFrom.RunID
		}
		if !slices.ContainsFunc(g.grants, func(given grant) bool {
			return given.run == about && slices.Contains(writes[path.Base(r.URL.Path)], given.action)
		}) {
			return fmt.Errorf("run %q was written by %s %s, but the grants were %v", c.Run.ID, r.Method, r.URL.Path,
				g.grants)
		}
	}
	return nil
}

// L1, L2: no request crashes the handler. Only a broken store causes a 5xx, and its error is not
// shown. Each refusal is a problem and has written nothing, and each write was allowed for its
// caller.
func FuzzL2NoRequestBreaksTheHandlerOrPassesByItsAuthorization(f *testing.F) {
	const json = "Content-Type: application/json\n"
	for _, c := range routes {
		at := "/interlude/api" + c.path
		f.Add(c.method, at, json+"X-User: ada", c.body, uint32(everything), uint8(0))
		f.Add(c.method, at, json+"X-User: ada", c.body, uint32(everything), uint8(2))
		f.Add(c.method, at, json+"X-User: eve\nX-Groups: ada", c.body, uint32(everything), uint8(0))
	}
	for _, c := range []struct{ method, path, headers, body string }{
		{"GET", "runs?limit=1&label=a=b&state=queued", "If-None-Match: *", ""},
		{"GET", "runs/r/events", "Last-Event-ID: 1", ""},
		{"GET", "inbox?all=true&kind=form&due_before=2030-01-01T00:00:00Z", "", ""},
		{"POST", "runs", "Content-Type: application/json; charset=utf-16", `{"prompt":"x"}`},
		{"POST", "runs", json + "Idempotency-Key: k",
			`{"prompt":"x","ask":{"to":{"users":["ada"]},"need":2},"key":"k"}`},
		{"POST", "runs/r/questions/1/reply", json + "Idempotency-Key: \x00", `{"value":1e999999}`},
		{"POST", "runs/form/questions/1/reply", json, `{"value":{"count":2}}`},
		{"POST", "runs/form/questions/1/reply", json, `{"value":{"count":0,"x":[{}]}}`},
		{"POST", "runs/approval/questions/1/reply", json, `{"decision":"edit","value":{"to":"ACME","amount":1}}`},
		{"POST", "runs/approval/questions/1/reply", json, `{"decision":"reject","text":"no"}`},
		{"POST", "runs/held/resume", json, `{"choice":"repeat"}`},
		{"POST", "runs/done/fork", json + "Idempotency-Key: f", `{}`},
		{"POST", "runs/queued/cancel", json, `{"reason":"x"}`},
		{"POST", "runs/r/cancel", json + "Sec-Fetch-Site: cross-site\nOrigin: https://evil.example", ""},
		{"POST", "runs/r/cancel", json + "Sec-Fetch-Site: cross-site\nOrigin: https://desk.example.com", ""},
		{"OPTIONS", "runs", "Origin: https://desk.example.com", ""},
		{"GET", "%2e%2e/style.css", "Range: bytes=0-1", ""},
	} {
		f.Add(c.method, "/interlude/api/"+c.path, c.headers+"\nX-User: ada", c.body, uint32(everything), uint8(0))
	}
	f.Add("GET", "/interlude/style.css", "Range: bytes=0-1\nX-User: ada", "", uint32(0), uint8(0))
	g := openGuarded(f)
	f.Fuzz(func(t *testing.T, method, target, headers, body string, may uint32, breaks uint8) {
		if err := g.serve(&fuzzed{method, target, headers, body, may, breaks}); err != nil {
			t.Fatal(err)
		}
		if len(g.written) > 0 { // each input starts with the same runs
			g.client.Close()
			g = openGuarded(t)
		}
	})
}

// L1, L2: the fuzzer's judge rejects incorrect handlers.
func TestL2TheJudgeOfFuzzedRequestsFindsBrokenHandlers(t *testing.T) {
	const secret = `{"text":"` + secretWord + `"}`
	host := func(g *guarded) *lifecycle.Client { // acts for the host, without Authorize
		c, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: g.guard})
		require.NoError(t, err)
		return c
	}
	say := func(w http.ResponseWriter, status int, kind, body string) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Content-Security-Policy", "default-src 'self'")
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
	cancel := func(g *guarded, r *http.Request) { _ = host(g).Cancel(r.Context(), "r", "") }
	for name, c := range map[string]struct {
		method, want string
		serve        func(g *guarded, w http.ResponseWriter, r *http.Request)
	}{
		"writes without asking": {"POST", "was written by", func(g *guarded, w http.ResponseWriter, r *http.Request) {
			cancel(g, r)
			say(w, http.StatusNoContent, "", "")
		}},
		"asks about something else": {"POST", "was written by",
			func(g *guarded, w http.ResponseWriter, r *http.Request) {
				_, _ = g.client.As(lifecycle.Actor{ID: "ada"}).Get(r.Context(), "r")
				cancel(g, r)
				say(w, http.StatusNoContent, "", "")
			}},
		"writes for a GET": {"GET", "GET has written", func(g *guarded, w http.ResponseWriter, r *http.Request) {
			_ = g.client.As(lifecycle.Actor{ID: "ada"}).Cancel(r.Context(), "r", "")
			say(w, http.StatusNoContent, "", "")
		}},
		"refuses what it has written": {"POST", "refused with 409 has written",
			func(g *guarded, w http.ResponseWriter, r *http.Request) {
				_ = g.client.As(lifecycle.Actor{ID: "ada"}).Cancel(r.Context(), "r", "")
				say(w, http.StatusConflict, "application/problem+json", `{"code":"SETTLED","status":409}`)
			}},
		"shows what was not allowed": {"GET", "shown without permission",
			func(_ *guarded, w http.ResponseWriter, _ *http.Request) { say(w, 200, "application/json", secret) }},
		"says what the store says": {"GET", "is shown", func(_ *guarded, w http.ResponseWriter, _ *http.Request) {
			say(w, http.StatusNotFound, "application/json", errBroken.Error())
		}},
		"fails": {"GET", "although the store works", func(_ *guarded, w http.ResponseWriter, _ *http.Request) {
			say(w, http.StatusInternalServerError, "application/problem+json", `{"code":"INTERNAL","status":500}`)
		}},
		"acknowledges nothing": {"POST", "without a write",
			func(_ *guarded, w http.ResponseWriter, _ *http.Request) { say(w, 201, "application/json", `{}`) }},
		"cuts its JSON": {"GET", "invalid JSON", func(_ *guarded, w http.ResponseWriter, _ *http.Request) {
			say(w, http.StatusOK, "application/json", `{`)
		}},
		"has no code": {"GET", "without a code", func(_ *guarded, w http.ResponseWriter, _ *http.Request) {
			say(w, http.StatusNotFound, "application/problem+json", `{"status":404}`)
		}},
		"refuses in words": {"GET", "without a problem", func(_ *guarded, w http.ResponseWriter, _ *http.Request) {
			say(w, http.StatusNotFound, "text/plain", `no`)
		}},
		"protects nobody": {"GET", "security headers", func(_ *guarded, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := openGuarded(t)
			defer g.client.Close()
			request := &fuzzed{c.method, "/interlude/api/runs/r/cancel", "X-User: ada", "", everything, 0}
			g.frontEnd = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.serve(g, w, r) })
			require.ErrorContains(t, g.serve(request), c.want)
		})
	}
	g := openGuarded(t)
	defer g.client.Close()
	crossed := &fuzzed{"POST", "/interlude/api/runs/r/cancel", "X-User: ada\nSec-Fetch-Site: cross-site", "",
		everything, 0}
	g.frontEnd = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = g.client.As(lifecycle.Actor{ID: "ada"}).Cancel(r.Context(), "r", "")
		say(w, http.StatusNoContent, "", "")
	})
	require.ErrorContains(t, g.serve(crossed), "another site")
}
