package otel

import (
	"context"
	"maps"
	"sync"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/interlude-go/interlude/lifecycle"
)

const scope = "github.com/interlude-go/interlude/host/otel"

// Config configures Telemetry. Without a provider there are no traces, or no metrics.
type Config struct {
	Traces  trace.TracerProvider
	Metrics metric.MeterProvider
}

// Telemetry turns the notifications of lifecycle's observer into spans and metrics. It is safe for
// concurrent use.
type Telemetry struct {
	tracer trace.Tracer // nil: no traces
	meter  metric.Meter // nil: no metrics
	*instruments

	mu     sync.Mutex           // guards the fields below
	runs   map[string]*runTrace // by run id, at most maxRuns
	places map[place]*placeSpan // at most maxSeries
}

// New returns Telemetry. It starts no goroutine. The error is from the meter.
func New(cfg Config) (*Telemetry, error) {
	t := &Telemetry{runs: make(map[string]*runTrace), places: make(map[place]*placeSpan)}
	if cfg.Traces != nil {
		t.tracer = cfg.Traces.Tracer(scope)
	}
	if cfg.Metrics == nil {
		return t, nil
	}
	t.meter = cfg.Metrics.Meter(scope)
	var err error
	if t.instruments, err = newInstruments(t.meter); err != nil {
		return nil, err
	}
	return t, nil
}

// Inject returns a copy of meta with the traceparent of the span in ctx. Use it as Spec.Meta: the
// span of each turn then links to that span. Without a span in ctx, Inject returns meta itself.
func Inject(ctx context.Context, meta map[string]string) map[string]string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return meta
	}
	injected := maps.Clone(meta)
	if injected == nil {
		injected = make(map[string]string)
	}
	propagation.TraceContext{}.Inject(ctx, propagation.MapCarrier(injected))
	return injected
}

// Observer is for lifecycle.Config.Observer and ClientConfig.Observer. Without a provider it has no
// functions, and costs nothing.
func (t *Telemetry) Observer() lifecycle.Observer {
	if t.tracer == nil && t.meter == nil {
		return lifecycle.Observer{}
	}
	o := lifecycle.Observer{Transition: t.observeTransition, Turn: t.observeTurn, Settled: t.observeSettlement,
		Blocked: t.observeBlock}
	if t.tracer != nil {
		o.Start = t.startTurn
	}
	if t.meter != nil {
		o.LeaseLost = func(lifecycle.LostLease) { t.lost.Add(context.Background(), 1) }
		o.Dropped = func(n int) { t.dropped.Add(context.Background(), int64(n)) }
	}
	return o
}

func (t *Telemetry) observeTransition(c lifecycle.Transition) {
	if t.meter != nil {
		t.countTransition(&c)
	}
	if t.tracer == nil || !c.To.Terminal() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case c.From != lifecycle.StateRunning:
		delete(t.runs, c.RunID) // no turn follows
	case c.Error != nil:
		t.run(c.RunID).code = string(c.Error.Code)
	}
}

func (t *Telemetry) observeSettlement(s lifecycle.Settlement) {
	if t.meter != nil {
		t.measureAnswer(&s)
	}
	if t.tracer != nil {
		t.note(s.RunID, event{at: s.At, question: s.InteractionID, kind: s.Kind, resolution: s.Resolution,
			waited: s.Waited})
	}
}

func (t *Telemetry) observeBlock(b lifecycle.BlockedRun) {
	if t.meter != nil {
		t.countBlock(&b)
	}
	if t.tracer != nil {
		t.note(b.RunID, event{at: b.At, block: b.Block.Kind})
	}
}

func (t *Telemetry) observeTurn(e lifecycle.EndedTurn) {
	if t.meter != nil {
		t.measureTurn(&e)
	}
	if t.tracer != nil {
		t.end(&e)
	}
}
