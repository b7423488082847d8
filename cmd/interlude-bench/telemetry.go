package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/interlude-go/interlude/host/otel"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// collectEvery is the interval at which metrics are collected, the shortest that Gauges recommends.
const collectEvery = 10 * time.Second

// telemetry is OpenTelemetry's SDK as a host installs it, with exporters that discard everything.
// The zero value is a host without telemetry.
type telemetry struct {
	observer lifecycle.Observer
	gauges   func(*lifecycle.Client, store.Meter) (stop func() error, err error)
	leave    []func(context.Context) error
}

// newTelemetry returns the telemetry of -telemetry. "observer" is an observer that does nothing,
// which measures the library's part.
func newTelemetry(kind string) (*telemetry, error) {
	t := &telemetry{}
	var cfg otel.Config
	switch kind {
	case "none":
		return t, nil
	case "observer":
		t.observer = lifecycle.Observer{Transition: func(lifecycle.Transition) {}, Turn: func(lifecycle.EndedTurn) {},
			Settled: func(lifecycle.Settlement) {}, Blocked: func(lifecycle.BlockedRun) {}}
		return t, nil
	case "traces", "metrics", "all":
	default:
		return nil, fmt.Errorf("-telemetry is %q, want none, observer, traces, metrics or all", kind)
	}
	if kind != "metrics" {
		traces := trace.NewTracerProvider(trace.WithBatcher(discard{}))
		cfg.Traces, t.leave = traces, append(t.leave, traces.Shutdown)
	}
	if kind != "traces" {
		metrics := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(discardMetrics{},
			metric.WithInterval(collectEvery))))
		cfg.Metrics, t.leave = metrics, append(t.leave, metrics.Shutdown)
	}
	made, err := otel.New(cfg)
	if err != nil {
		return nil, err
	}
	t.observer, t.gauges = made.Observer(), made.Gauges
	return t, nil
}

func (t *telemetry) watch(c *lifecycle.Client, stored store.Meter) error {
	if t.gauges == nil {
		return nil
	}
	stop, err := t.gauges(c, stored)
	if err != nil {
		return err
	}
	t.leave = append([]func(context.Context) error{func(context.Context) error { return stop() }}, t.leave...)
	return nil
}

func (t *telemetry) end(ctx context.Context) (err error) {
	for _, leave := range t.leave {
		err = errors.Join(err, leave(ctx))
	}
	return err
}

type discard struct{}

func (discard) ExportSpans(context.Context, []trace.ReadOnlySpan) error { return nil }
func (discard) Shutdown(context.Context) error                          { return nil }

type discardMetrics struct{}

func (discardMetrics) Temporality(k metric.InstrumentKind) metricdata.Temporality {
	return metric.DefaultTemporalitySelector(k)
}

func (discardMetrics) Aggregation(k metric.InstrumentKind) metric.Aggregation {
	return metric.DefaultAggregationSelector(k)
}
func (discardMetrics) Export(context.Context, *metricdata.ResourceMetrics) error { return nil }
func (discardMetrics) ForceFlush(context.Context) error                          { return nil }
func (discardMetrics) Shutdown(context.Context) error                            { return nil }
