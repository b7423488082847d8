package web_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
)

// Whatever is sent: no crash, no 5xx, and a problem for each refusal; and who may do nothing changes nothing.
func FuzzL2NoRequestBreaksTheDoorOrPassesByItsAuthorization(f *testing.F) {
	for _, c := range routes {
		f.Add(c.method, "/interlude/api"+c.path, "Last-Event-ID", "1", c.body)
	}
	f.Add("GET", "/interlude/api/runs?limit=1&label=a=b&state=queued", "If-None-Match", "*", "")
	f.Add("POST", "/interlude/api/runs", "Content-Type", "application/json; charset=utf-16", `{"prompt":"x"}`)
	f.Add("POST", "/interlude/api/runs/r/questions/1/reply", "Idempotency-Key", "\x00", `{"value":1e999999}`)
	f.Add("GET", "/interlude/%2e%2e/style.css", "Range", "bytes=0-1", "")
	st := memory.New()
	require.NoError(f, st.SetPool(f.Context(), lifecycle.Pool{Name: lifecycle.DefaultPool, Capacity: 1}))
	client, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: st, Logger: slog.New(slog.DiscardHandler),
		Authorize: func(_ context.Context, a lifecycle.Access) error {
			if a.Actor.ID == "eve" && a.Action != lifecycle.ActionView && a.Action != lifecycle.ActionList {
				return http.ErrNotSupported
			}
			return nil
		}})
	require.NoError(f, err)
	f.Cleanup(client.Close)
	before, err := client.Submit(f.Context(), lifecycle.Spec{ID: "r", Prompt: "Ship?"})
	require.NoError(f, err)
	h := web.Handler(client, web.Options{Logger: slog.New(slog.DiscardHandler), MaxBody: 64 << 10,
		Identify: func(*http.Request) (lifecycle.Actor, error) { return lifecycle.Actor{ID: "eve"}, nil }})

	f.Fuzz(func(t *testing.T, method, path, name, value, body string) {
		target, err := url.ParseRequestURI(path)
		if err != nil || method == "" || strings.ContainsFunc(method, func(r rune) bool { return r < 'A' || r > 'Z' }) {
			return // no server gets such a request
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // a stream ends with its request
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/", strings.NewReader(body))
		r.Method, r.URL, r.RequestURI = method, target, path
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(name, value)
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		require.Less(t, rec.Code, 500, "%s", rec.Body)
		if rec.Header().Get("Content-Type") == "application/problem+json" && method != http.MethodHead {
			var p web.Problem
			require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &p), "%s", rec.Body)
			require.NotEmpty(t, p.Code)
		}
		after, err := client.Get(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, before, after)
		page, err := client.Runs(t.Context(), lifecycle.Query{})
		require.NoError(t, err)
		require.Len(t, page.Runs, 1, "nothing was written")
	})
}
