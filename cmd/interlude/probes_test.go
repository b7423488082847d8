package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/cmd/internal/console"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pglocal"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
	"github.com/interlude-go/interlude/store/sqlite"
)

// R2: with a sign-in, probes and metrics answer on their own address without one, the environment
// overrides the file, and the log is JSON.
func TestR2ProbesNeedNoSignIn(t *testing.T) {
	said, stop := serveFile(t, `{"listen": "127.0.0.1:0", "probes": "256.0.0.1:1", "agents": {"demo": {"agent": "demo"}},
		"sign_in": {"tokens": [{"user": "ada", "sha256": "`+hashOf("secret")+`"}]}}`,
		"INTERLUDE_PROBES=127.0.0.1:0", "INTERLUDE_LOG=json", "INTERLUDE_V=true")
	status, _, _ := request(t, http.MethodGet, said.Page+"api/inbox", "")
	require.Equal(t, http.StatusUnauthorized, status)
	require.Eventually(t, func() bool { // the node joins after the addresses are printed
		status, _, _ = request(t, http.MethodGet, said.Probes+"/readyz", "")
		return status == http.StatusOK
	}, patience, 20*time.Millisecond)
	require.Contains(t, fetch(t, said.Probes+"/healthz"), "healthy")
	metrics := fetch(t, said.Probes+"/metrics")
	for _, name := range []string{"interlude_nodes 1", "go_goroutines ", "interlude_slots_capacity"} {
		require.Contains(t, metrics, name)
	}
	status, _, _ = request(t, http.MethodGet, said.Page+"../metrics", "")
	require.GreaterOrEqual(t, status, 400, "the page's address has no metrics")
	stop()
	for line := range strings.Lines(said.log.String()) {
		require.True(t, json.Valid([]byte(line)), line)
	}
	require.Contains(t, said.log.String(), `"msg":`)
}

// R2: a server that does not answer, and a schema of a newer release, each end readiness.
// Readiness returns when the cause is gone. (lifecycle tests the lease and the fence.)
func TestR2ReadinessFollowsStoreAndSchema(t *testing.T) {
	server := pgtest.Start(t, pglocal.Options{})
	st, err := postgres.Open(t.Context(), server.DSN(""), postgres.Options{Timeout: 2 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { st.Close() })
	p, err := newProbes(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	defer p.close()
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: engine.Func(demoAgent), Lease: time.Hour,
		Observer: p.observer(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(lc.Close)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	require.NoError(t, p.start(ctx, lc, &console.Database{}, st, slog.New(slog.DiscardHandler)))
	until := func(want string) {
		t.Helper()
		require.Eventually(t, func() bool {
			_, _, body := request(t, http.MethodGet, p.address()+"/readyz", "")
			return strings.Contains(body, want)
		}, patience, 50*time.Millisecond, want)
	}
	exec := func(sql string) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), server.DSN(""))
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), sql)
		require.NoError(t, err)
		require.NoError(t, conn.Close(t.Context()))
	}
	until(`"ready"`)
	exec(`INSERT INTO interlude.migrations (version, name, oldest, sum) VALUES (1000, 'later', 1000, 'later')`)
	until(`"missing":["schema"]`)
	exec(`DELETE FROM interlude.migrations WHERE version = 1000`)
	until(`"ready"`)
	require.NoError(t, server.Halt())
	until(`"missing":["lease"]`)
	require.Contains(t, fetch(t, p.address()+"/healthz"), "healthy", "a restart would not help")
	require.NoError(t, server.Resume(t.Context()))
	until(`"ready"`)
	cancel()
	require.NoError(t, <-served)
}

// R2: after SIGTERM the process is alive and not ready while its turns end.
func TestR2AnEndingProcessIsNotReady(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { st.Close() })
	p, err := newProbes(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	defer p.close()
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: engine.Func(demoAgent), Observer: p.observer()})
	require.NoError(t, err)
	t.Cleanup(lc.Close)
	require.NoError(t, p.start(ctx, lc, &console.Database{}, st, slog.New(slog.DiscardHandler)))
	cancel()
	status, _, body := request(t, http.MethodGet, p.address()+"/readyz", "")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, `"missing":["lease","serving"]`)
	require.Contains(t, fetch(t, p.address()+"/healthz"), "healthy")
}
