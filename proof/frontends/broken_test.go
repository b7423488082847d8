package frontends_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// around changes the handler of a host.
type around func(h http.Handler, c *lifecycle.Client) http.Handler

func isReply(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/reply") }

// replacing changes the responses.
func replacing(change func(r *http.Request, a *answer)) around {
	return func(h http.Handler, _ *lifecycle.Client) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, r)
			a := &answer{rec.Code, rec.Header(), rec.Body.Bytes()}
			change(r, a)
			maps.Copy(w.Header(), a.header)
			w.Header().Del("Content-Length")
			w.WriteHeader(a.status)
			_, _ = w.Write(a.body)
		})
	}
}

// looksFirst acknowledges a reply to a question that it has seen open, and replies after that.
func looksFirst(h http.Handler, c *lifecycle.Client) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		run, err := c.Get(r.Context(), strings.Split(r.URL.Path, "/")[min(4, strings.Count(r.URL.Path, "/"))])
		if !isReply(r) || err != nil || len(run.Open) == 0 {
			h.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		later := r.Clone(context.WithoutCancel(r.Context()))
		later.Body = io.NopCloser(bytes.NewReader(body))
		go h.ServeHTTP(httptest.NewRecorder(), later)
		w.WriteHeader(http.StatusCreated)
	})
}

// forgetsKeys takes each reply for a new one.
func forgetsKeys(h http.Handler, _ *lifecycle.Client) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Idempotency-Key")
		h.ServeHTTP(w, r)
	})
}

var actor = regexp.MustCompile(`"actor":"[a-z]+"`)

// lenient is a store that acknowledges a settlement that has lost its race.
type lenient struct{ *memory.Store }

func (s lenient) Commit(ctx context.Context, batch []store.Commit) []error {
	errs := s.Store.Commit(ctx, batch)
	for i := range batch {
		if len(batch[i].Settled) > 0 && errors.Is(errs[i], store.ErrConflict) {
			errs[i] = nil
		}
	}
	return errs
}

// openWorld is a world with one node in this process.
func openWorld(t *testing.T, s store.Store, change around) *world {
	t.Helper()
	lc, err := newLifecycle(s)
	require.NoError(t, err)
	handler, err := newHandler(lc.Client)
	require.NoError(t, err)
	if change != nil {
		handler = change(handler, lc.Client)
	}
	server := httptest.NewServer(cutLines(handler, 8))
	w, err := newWorld(lc.Client, func() string { return server.URL })
	require.NoError(t, err)
	w.endless = true
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	t.Cleanup(func() {
		server.Close()
		cancel()
		require.NoError(t, <-served)
		lc.Close()
	})
	return w
}
