package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/interlude-go/interlude/host/reqbody"
)

// ProbeOptions configure Probes.
type ProbeOptions struct {
	// Ready has the conditions of readiness by name, for example "lease": Lifecycle.Ready. Each
	// returns nil if it is met. They are called one after the other, and must return soon after their
	// context has ended.
	Ready map[string]func(context.Context) error
	// Metrics serves /metrics, for example promhttp.Handler. Nil: 404.
	Metrics http.Handler
	// Timeout limits the conditions together. Zero: 3 s.
	Timeout time.Duration
	// Every is how long a result of the conditions is used for later requests. Zero: 1 s.
	Every time.Duration
	// Logger gets the reasons when readiness changes. Nil: slog.Default.
	Logger *slog.Logger
}

// Probes serves the endpoints of supervisors and monitoring, without a sign-in:
//
//   - /healthz: 200 as long as the process answers;
//   - /readyz: 200 if all conditions are met, otherwise 503 with the names of the others;
//   - /metrics: ProbeOptions.Metrics.
//
// Responses contain no reasons, which may name servers; the log does. Serve it on a separate
// address that only supervisors and monitoring reach. Requests share evaluations of the conditions,
// so that requests without a sign-in cannot load the store. It is safe for concurrent use.
func Probes(opts ProbeOptions) http.Handler {
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	orElse(&opts.Timeout, 3*time.Second)
	orElse(&opts.Every, time.Second)
	p := &probes{opts: opts}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeProbe(w, "healthy", nil) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		missing := p.missing(r.Context())
		status := "ready"
		if len(missing) > 0 {
			status = "not ready"
		}
		writeProbe(w, status, missing)
	})
	if opts.Metrics != nil {
		mux.Handle("GET /metrics", opts.Metrics)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, body := reqbody.Limit(w, r, opts.Timeout)
		body.CloseUnread(w.Header())
		mux.ServeHTTP(w, r)
	})
}

type probes struct {
	opts ProbeOptions

	mu     sync.Mutex // guards the fields below
	at     time.Time  // of the last evaluation
	failed []string   // the names of the unmet conditions then
}

// missing returns the names of the unmet conditions.
func (p *probes) missing(ctx context.Context) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.at.IsZero() && time.Since(p.at) < p.opts.Every {
		return p.failed
	}
	// The result also counts for other requests, so this one's end does not matter.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.opts.Timeout)
	defer cancel()
	var failed []string
	var reasons []error
	for _, name := range slices.Sorted(maps.Keys(p.opts.Ready)) {
		if err := p.opts.Ready[name](ctx); err != nil {
			failed = append(failed, name)
			reasons = append(reasons, fmt.Errorf("%s: %w", name, err))
		}
	}
	switch {
	case len(failed) > 0 && !slices.Equal(failed, p.failed):
		p.opts.Logger.Warn("web: not ready", "err", errors.Join(reasons...))
	case len(failed) == 0 && len(p.failed) > 0:
		p.opts.Logger.Info("web: ready again")
	}
	p.failed, p.at = failed, time.Now()
	return failed
}

func writeProbe(w http.ResponseWriter, status string, missing []string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if len(missing) > 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	body, _ := json.Marshal(struct {
		Status  string   `json:"status"`
		Missing []string `json:"missing,omitempty"`
	}{status, missing})
	_, _ = w.Write(append(body, '\n'))
}
