package page_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

// world is a host: a lifecycle that executes runs, and its page below /desk/.
type world struct {
	t       *testing.T
	lc      *lifecycle.Lifecycle
	handler http.Handler
	server  *httptest.Server
	gone    atomic.Bool // requests have no response
	// undo is the time in which a person can take an answer back, in seconds.
	undo int
	// streams disables all timers of a second or more in the windows. So a window neither polls nor closes its
	// stream after a slow request, and shows only changes that its stream has reported.
	streams bool
	// fresh: the browser has no data of an earlier world.
	fresh sync.Once

	mu        sync.Mutex
	questions map[string][]engine.Question // by run; guarded by mu
	answers   map[string][]engine.Answer   // by run; guarded by mu

	// ends has how turns end that neither ask nor are done, by run; nothing changes it once runs begin.
	ends map[string]func() (engine.Outcome, error)
}

// groups are the groups of the people in these tests.
var groups = map[string][]string{"ada": {"finance"}, "bob": {"finance"}, "carl": {"finance"}, "eve": {"sales"}}

func identify(r *http.Request) (lifecycle.Actor, error) {
	id := r.Header.Get("X-User")
	if cookie, err := r.Cookie("user"); err == nil && id == "" { // a request that outlives its page has no such header
		id = cookie.Value
	}
	if id == "" {
		return lifecycle.Actor{}, errors.New("no X-User")
	}
	return lifecycle.Actor{ID: id, Groups: groups[id]}, nil
}

// openWorld starts a world. around wraps the handler, outermost last.
func openWorld(t *testing.T, around ...func(http.Handler) http.Handler) *world {
	t.Helper()
	return openWorldOf(t, lifecycle.Config{}, web.Options{}, around...)
}

// openWorldOf is openWorld with additional lifecycle configuration and handler options.
func openWorldOf(t *testing.T, cfg lifecycle.Config, opts web.Options, around ...func(http.Handler) http.Handler,
) *world {
	t.Helper()
	need(t, browser != nil, "Chromium")
	w := &world{t: t, questions: make(map[string][]engine.Question), answers: make(map[string][]engine.Answer)}
	quiet := slog.New(slog.DiscardHandler)
	cfg.Engine, cfg.Forgiving, cfg.Logger, cfg.Dir = engine.Func(w.turn), true, quiet, t.TempDir()
	lc, err := lifecycle.New(cfg)
	require.NoError(t, err)
	w.lc = lc
	opts.Prefix, opts.Identify, opts.Logger = "/desk", identify, quiet
	w.handler = web.Handler(lc.Client, opts)
	for _, wrap := range around {
		w.handler = wrap(w.handler)
	}
	w.serve()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	t.Cleanup(func() {
		_ = w.server.Config.Close()
		cancel()
		assert.NoError(t, <-served)
		lc.Close()
	})
	return w
}

func (w *world) serve() {
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.gone.Load() {
			panic(http.ErrAbortHandler)
		}
		w.handler.ServeHTTP(rw, r)
	}))
}

// unplug cuts all connections, also new ones, until plugIn. It keeps the port, which another process could take.
func (w *world) unplug() {
	w.gone.Store(true)
	w.server.CloseClientConnections()
}

func (w *world) plugIn() { w.gone.Store(false) }

func (w *world) url() string { return w.server.URL }

// turn asks the questions that the test has set for the run, and ends with the answers.
func (w *world) turn(ctx context.Context, t engine.Turn, sink engine.Sink) (engine.Outcome, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := t.RunID
	if end := w.ends[id]; end != nil {
		return end()
	}
	if len(t.Answers) > 0 {
		w.answers[id] = t.Answers
		said := make([]string, len(t.Answers))
		for i, a := range t.Answers {
			said[i] = a.Message()
		}
		return engine.Done("The answer was: " + strings.Join(said, "; ")), nil
	}
	_ = sink.Message(ctx, engine.Message{Text: "I have read what there is about " + id + "."})
	return engine.AskAll(w.questions[id]...), nil
}

// ask begins a run that asks these questions, and waits until they are open.
func (w *world) ask(spec lifecycle.Spec, questions ...engine.Question) {
	w.t.Helper()
	w.mu.Lock()
	w.questions[spec.ID] = questions
	w.mu.Unlock()
	spec.Prompt, spec.MaxQuestions = "Do it.", 32
	_, err := w.lc.Submit(w.t.Context(), spec)
	require.NoError(w.t, err)
	ctx, cancel := context.WithTimeout(w.t.Context(), patience) // a question that is refused is never asked
	defer cancel()
	for ev, err := range w.lc.Events(ctx, spec.ID, 0) {
		require.NoError(w.t, err)
		if ev.Type == lifecycle.TypeInputRequired {
			return
		}
	}
	require.FailNow(w.t, "the run has ended without a question", spec.ID)
}

// answered waits until the run has ended, and returns what its engine was given.
func (w *world) answered(id string) []engine.Answer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	run, err := w.lc.Wait(ctx, id)
	require.NoError(w.t, err)
	require.Equal(w.t, lifecycle.StateSucceeded, run.State)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answers[id]
}

func confirm(prompt string) engine.Question {
	return engine.Question{Kind: engine.Confirm, Prompt: prompt}
}

func openText(prompt string) engine.Question {
	return engine.Question{Kind: engine.OpenText, Prompt: prompt}
}

// approval is an approval of a call with these arguments.
func approval(t *testing.T, title, tool, arguments string) engine.Question {
	t.Helper()
	q, err := engine.ApprovalOf(title, tool, json.RawMessage(arguments))
	require.NoError(t, err)
	return q
}

// askMany begins many runs that ask a question each, and waits until all are open.
func (w *world) askMany(n int) {
	w.t.Helper()
	var asking errgroup.Group
	asking.SetLimit(16)
	for i := range n {
		asking.Go(func() error {
			id := fmt.Sprintf("run-%04d", i)
			w.mu.Lock()
			w.questions[id] = []engine.Question{confirm(fmt.Sprintf("Is this number %04d?", i))}
			w.mu.Unlock()
			_, err := w.lc.Submit(w.t.Context(), lifecycle.Spec{ID: id, Prompt: "Do it.",
				Labels: map[string]string{"team": fmt.Sprint(i % 7)}})
			return err
		})
	}
	require.NoError(w.t, asking.Wait())
	require.Eventually(w.t, func() bool {
		count, err := w.lc.CountInbox(w.t.Context(), lifecycle.InboxQuery{})
		return err == nil && count.Questions == n
	}, 2*patience, 20*time.Millisecond)
}
