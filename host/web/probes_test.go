package web_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/web"
)

// R2: supervisors and monitoring get liveness, readiness and metrics without a sign-in. The
// response names the unmet conditions; only the log has their reasons.
func TestR2ProbesReportReadinessWithoutSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var lease error
		calls := 0
		probes := web.Probes(web.ProbeOptions{
			Ready: map[string]func(context.Context) error{
				"lease":  func(context.Context) error { calls++; return lease },
				"schema": func(context.Context) error { return nil },
			},
			Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "up 1\n") }),
			Logger:  slog.New(slog.NewTextHandler(&log, nil)),
		})
		probe := func(method, path string) (int, string) {
			w := httptest.NewRecorder()
			probes.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
			return w.Code, w.Body.String()
		}
		expect := func(path string, status int, body string) {
			t.Helper()
			have, text := probe(http.MethodGet, path)
			require.Equal(t, status, have, text)
			require.Equal(t, body, strings.TrimSpace(text))
		}
		expect("/healthz", 200, `{"status":"healthy"}`)
		expect("/readyz", 200, `{"status":"ready"}`)
		expect("/metrics", 200, "up 1")
		for path, method := range map[string]string{"/": http.MethodGet, "/readyz": http.MethodPost} {
			status, _ := probe(method, path)
			require.GreaterOrEqual(t, status, 400, path)
		}
		lease = errors.New("postgres://secret.example.com does not answer")
		for range 100 {
			expect("/readyz", 200, `{"status":"ready"}`)
		}
		require.Equal(t, 1, calls, "requests share an evaluation")
		time.Sleep(time.Second)
		expect("/readyz", 503, `{"status":"not ready","missing":["lease"]}`)
		expect("/healthz", 200, `{"status":"healthy"}`)
		time.Sleep(time.Second)
		expect("/readyz", 503, `{"status":"not ready","missing":["lease"]}`)
		require.Equal(t, 1, strings.Count(log.String(), "secret.example.com"), "logged once: %s", &log)
		lease = nil
		time.Sleep(time.Second)
		expect("/readyz", 200, `{"status":"ready"}`)
		require.Contains(t, log.String(), "ready again")
	})
}

// R2: a condition that hangs is unmet when its time is over, also if its request has gone.
func TestR2AHungConditionIsUnmet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		probes := web.Probes(web.ProbeOptions{Logger: slog.New(slog.DiscardHandler),
			Ready: map[string]func(context.Context) error{
				"store": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			}})
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		w := httptest.NewRecorder()
		probes.ServeHTTP(w, httptest.NewRequestWithContext(gone, http.MethodGet, "/readyz", nil))
		require.Equal(t, 503, w.Code)
		require.Equal(t, 3*time.Second, time.Since(began))
	})
}
