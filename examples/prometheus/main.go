// Prometheus serves the metrics of host/otel at /metrics. To have some data, an agent regularly
// asks and a person usually answers (agent.go).
//
//	go run ./examples/prometheus 127.0.0.1:9464
//
// Let a Prometheus scrape that address, and import dashboard.json into Grafana (Dashboards, New,
// Import); it asks for the Prometheus data source.
package main

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/otel"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: prometheus ADDRESS, for example 127.0.0.1:9464")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", os.Args[1])
	if err == nil {
		log.Printf("metrics: http://%s/metrics", listener.Addr())
		err = serve(ctx, listener, time.Second)
	}
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// serve executes runs and serves their metrics until ctx ends. A run is submitted at each pace.
func serve(ctx context.Context, listener net.Listener, pace time.Duration) error {
	exporter, err := prometheus.New()
	if err != nil {
		return err
	}
	provider := metric.NewMeterProvider(metric.WithReader(exporter))
	telemetry, err := otel.New(otel.Config{Metrics: provider})
	if err != nil {
		return err
	}
	st := memory.New()
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: engine.Func(agent), Observer: telemetry.Observer(),
		Retry: &lifecycle.Retry{Max: 5, Backoff: pace}})
	if err != nil {
		return err
	}
	defer lc.Close()
	unregister, err := telemetry.Gauges(lc.Client, st)
	if err != nil {
		return err
	}
	pages := http.NewServeMux()
	pages.Handle("GET /metrics", promhttp.Handler())
	server := &http.Server{Handler: pages, ReadHeaderTimeout: 10 * time.Second}
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return lc.Serve(ctx) })
	parts.Go(func() error { return work(ctx, lc.Client, pace) })
	parts.Go(func() error { return server.Serve(listener) })
	parts.Go(func() error { <-ctx.Done(); return server.Close() })
	if err = parts.Wait(); errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, unregister(), provider.Shutdown(context.WithoutCancel(ctx)))
}
