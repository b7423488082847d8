package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"golang.org/x/net/netutil"

	"github.com/interlude-go/interlude/cmd/internal/console"
	"github.com/interlude-go/interlude/host/otel"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

// probes serve health, readiness and metrics on a separate address, without a sign-in.
type probes struct {
	listener  net.Listener
	registry  *prometheus.Registry
	provider  *metric.MeterProvider
	telemetry *otel.Telemetry
	server    *http.Server
	ended     chan struct{}
}

// maxProbes limits the connections, which need no sign-in.
const maxProbes = 64

// newProbes listens on the address. An empty address gives nil, which serves nothing.
func newProbes(ctx context.Context, address string) (*probes, error) {
	if address == "" {
		return nil, nil //nolint:nilnil // nil serves nothing
	}
	p := &probes{registry: prometheus.NewRegistry(), ended: make(chan struct{})}
	p.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reader, err := exporter.New(exporter.WithRegisterer(p.registry), exporter.WithoutScopeInfo())
	if err != nil {
		return nil, err
	}
	p.provider = metric.NewMeterProvider(metric.WithReader(reader))
	if p.telemetry, err = otel.New(otel.Config{Metrics: p.provider}); err != nil {
		return nil, err
	}
	if p.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", address); err != nil {
		return nil, misusef("-probes: %w: choose another address", err)
	}
	return p, nil
}

// observer returns the observer that counts turns, questions and transitions of this process.
func (p *probes) observer() lifecycle.Observer {
	if p == nil {
		return lifecycle.Observer{}
	}
	return p.telemetry.Observer()
}

// start serves until close. Readiness ends with ctx, so that no new requests arrive while the turns
// end; health does not.
func (p *probes) start(ctx context.Context, lc *lifecycle.Lifecycle, db *console.Database, st console.Store,
	log *slog.Logger) error {
	if p == nil {
		return nil
	}
	if _, err := p.telemetry.Gauges(lc.Client, st); err != nil {
		return err
	}
	p.server = &http.Server{ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		Handler: web.Probes(web.ProbeOptions{
			Ready: map[string]func(context.Context) error{
				"lease":   lc.Ready,
				"schema":  func(ctx context.Context) error { return db.CheckSchema(ctx, st) },
				"serving": func(context.Context) error { return ctx.Err() },
			},
			Metrics: promhttp.HandlerFor(p.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2,
				Timeout: 20 * time.Second, ErrorHandling: promhttp.ContinueOnError}),
			Logger: log,
		})}
	go func() {
		defer close(p.ended)
		err := p.server.Serve(netutil.LimitListener(p.listener, maxProbes))
		if !errors.Is(err, http.ErrServerClosed) {
			log.Error("probes are not served any more", "err", err)
		}
	}()
	return nil
}

// close ends the server.
func (p *probes) close() {
	if p == nil {
		return
	}
	if p.server != nil {
		_ = p.server.Close()
		<-p.ended
	}
	_ = p.listener.Close()
	_ = p.provider.Shutdown(context.Background())
}

// address returns the base of the endpoints; empty if there are none.
func (p *probes) address() string {
	if p == nil {
		return ""
	}
	return "http://" + p.listener.Addr().String()
}
