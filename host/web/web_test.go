package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

// asker is an agent that asks its prompt, and ends with the answer.
var asker = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	switch {
	case len(t.Answers) > 0:
		return engine.Done("You said: " + t.Answers[0].Text), nil
	case t.Prompt == "nothing":
		return engine.Done("done"), nil
	case t.Prompt == "files":
		return engine.Ask(engine.Question{Prompt: "Is the plan right?", Files: planFiles()}), nil
	case t.Prompt == "three":
		q := engine.Question{Kind: engine.Confirm, Prompt: "Go?"}
		return engine.AskAll(q, q, q), nil
	case t.Prompt == "form":
		return engine.Ask(engine.Question{Kind: engine.FillFields, Prompt: "How many?", Schema: json.RawMessage(
			`{"type":"object","properties":{"count":{"type":"integer","minimum":1}},"required":["count"]}`)}), nil
	case strings.HasSuffix(t.Prompt, "approval"):
		q, err := engine.ApprovalOf("Pay?", "pay", map[string]any{"to": "ACME", "amount": 420})
		if t.Prompt == "risky approval" {
			q.Subject.Risk = "The money is gone."
		}
		return engine.Ask(q), err
	}
	return engine.Ask(engine.Question{Kind: engine.Confirm, Prompt: t.Prompt}), nil
})

// world is a server over real sockets, with a node that executes its runs.
type world struct {
	t      *testing.T
	lc     *lifecycle.Lifecycle
	server *httptest.Server
}

// identify trusts a header, as a host trusts its session.
func identify(r *http.Request) (lifecycle.Actor, error) {
	id := r.Header.Get("X-User")
	if id == "" {
		return lifecycle.Actor{}, errors.New("no X-User")
	}
	actor := lifecycle.Actor{ID: id}
	if groups := r.Header.Get("X-Groups"); groups != "" {
		actor.Groups = strings.Split(groups, ",")
	}
	return actor, nil
}

func open(t *testing.T, cfg lifecycle.Config, opts web.Options, around ...func(http.Handler) http.Handler) *world {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	cfg.Engine, cfg.Forgiving, cfg.Logger = asker, true, quiet
	lc, err := lifecycle.New(cfg)
	require.NoError(t, err)
	if opts.Logger == nil {
		opts.Logger = quiet
	}
	var handler http.Handler = web.Handler(lc.Client, opts)
	for _, wrap := range around {
		handler = wrap(handler)
	}
	w := &world{t: t, lc: lc, server: httptest.NewServer(handler)}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	t.Cleanup(func() {
		w.server.CloseClientConnections()
		w.server.Close()
		cancel()
		assert.NoError(t, <-served)
		lc.Close()
	})
	return w
}

// openFor is open with a sign-in.
func openFor(t *testing.T) *world {
	t.Helper()
	return open(t, lifecycle.Config{}, web.Options{Identify: identify})
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) into(t *testing.T, v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(a.body, v), "%s", a.body)
}

func (a answer) code(t *testing.T) string {
	t.Helper()
	var p web.Problem
	require.Equal(t, "application/problem+json", a.header.Get("Content-Type"), "%s", a.body)
	a.into(t, &p)
	require.Equal(t, a.status, p.Status)
	return p.Code
}

// send makes a request on behalf of a person, unless a header says otherwise, and validates the
// response against the OpenAPI document.
func (w *world) send(method, path, person, body string, headers ...string) answer {
	w.t.Helper()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.server.URL+"/interlude/api"+path, content)
	require.NoError(w.t, err)
	if person != "" {
		r.Header.Set("X-User", person)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err)
	defer res.Body.Close()
	a := answer{status: res.StatusCode, header: res.Header}
	a.body, err = io.ReadAll(res.Body)
	require.NoError(w.t, err)
	w.fits(r, res, a.body)
	return a
}

// document is the OpenAPI document, which is the same for all worlds.
var (
	oneAtATime sync.Mutex
	document   validator.Validator // guarded by oneAtATime
)

func (w *world) readDocument() validator.Validator {
	w.t.Helper()
	get := httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, "/interlude/api/openapi.json", nil)
	get.Header.Set("X-User", "ada")
	rec := httptest.NewRecorder()
	w.server.Config.Handler.ServeHTTP(rec, get)
	require.Equal(w.t, http.StatusOK, rec.Code)
	doc, err := libopenapi.NewDocument(rec.Body.Bytes())
	require.NoError(w.t, err)
	v, errs := validator.NewValidator(doc)
	require.Empty(w.t, errs)
	return v
}

// fits validates a response against the document.
func (w *world) fits(r *http.Request, res *http.Response, body []byte) {
	w.t.Helper()
	if r.Method == http.MethodHead || r.Method == http.MethodOptions || res.StatusCode == http.StatusMethodNotAllowed {
		return
	}
	oneAtATime.Lock() // the validator is not safe for concurrent use
	defer oneAtATime.Unlock()
	if document == nil {
		document = w.readDocument()
	}
	path := strings.TrimPrefix(r.URL.Path, "/interlude/api")
	if path == "/openapi.json" || strings.Contains(path, "nowhere") {
		return
	}
	copied := *res
	copied.Body = io.NopCloser(bytes.NewReader(body))
	ok, faults := document.ValidateHttpResponse(r, &copied)
	for _, f := range faults {
		w.t.Logf("%s: %s %+v", f.Message, f.Reason, f.SchemaValidationErrors)
	}
	require.True(w.t, ok, "%s %s: %d %s", r.Method, r.URL, res.StatusCode, body)
}

// submit submits a run, and waits until it asks.
func (w *world) submit(id, prompt string, person string) web.Run {
	w.t.Helper()
	a := w.send("POST", "/runs", person, `{"prompt":"`+prompt+`"}`, "Idempotency-Key", id)
	require.Equal(w.t, http.StatusCreated, a.status, "%s", a.body)
	var run web.Run
	a.into(w.t, &run)
	w.untilAsked(id)
	return run
}

func (w *world) untilAsked(id string) {
	w.t.Helper()
	for ev, err := range w.lc.Events(w.t.Context(), id, 0) {
		require.NoError(w.t, err)
		if ev.Type == lifecycle.TypeInputRequired {
			return
		}
	}
}
