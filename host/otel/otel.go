package otel

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/interlude-go/interlude/lifecycle"
)

// scope names what makes the spans and metrics.
const scope = "github.com/interlude-go/interlude/host/otel"

// Bounds of what is remembered between the turns of a run.
const (
	maxRuns   = 10_000
	maxEvents = 32 // a run
)

// Config configures Telemetry. Without a provider there are no traces, or no metrics.
type Config struct {
	Traces  trace.TracerProvider
	Metrics metric.MeterProvider
}

// Telemetry makes spans and metrics from what the lifecycle's observer is told. It is safe for concurrent use.
type Telemetry struct {
	tracer trace.Tracer // nil: no traces
	meter  metric.Meter // nil: no metrics
	instruments

	mu   sync.Mutex
	runs map[string]*runTrace // guarded by mu; by run id, at most maxRuns
}

// runTrace is what Telemetry keeps of a run until this process has executed the run's next turn.
type runTrace struct {
	last   trace.SpanContext // of the last turn that this process executed
	events []event
	code   string // with which the run has failed
}

type event struct {
	name       string
	at         time.Time
	attributes []attribute.KeyValue
}

// instruments are the metrics that the observer's calls record. Either all of them are set, or the
// host gave no MeterProvider and all are nil.
type instruments struct {
	turn, queued, answer                        metric.Float64Histogram
	tokens, transitions, blocked, lost, dropped metric.Int64Counter
}

// New returns Telemetry; it starts nothing. The error is that of the meter, for an instrument.
func New(cfg Config) (*Telemetry, error) {
	t := &Telemetry{runs: make(map[string]*runTrace)}
	if cfg.Traces != nil {
		t.tracer = cfg.Traces.Tracer(scope)
	}
	if cfg.Metrics == nil {
		return t, nil
	}
	t.meter = cfg.Metrics.Meter(scope)
	var faults []error
	histogram := func(name, text string, bounds ...float64) metric.Float64Histogram {
		h, err := t.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(text),
			metric.WithExplicitBucketBoundaries(bounds...))
		faults = append(faults, err)
		return h
	}
	counter := func(name, unit, text string) metric.Int64Counter {
		c, err := t.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
		faults = append(faults, err)
		return c
	}
	t.turn = histogram("interlude.turn.duration", "Time that a turn worked.",
		.005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 900, 3600)
	t.queued = histogram("interlude.queue.duration", "Time that a run waited in the queue before a turn.",
		.001, .005, .01, .05, .1, .5, 1, 5, 30, 60, 600, 3600)
	t.answer = histogram("interlude.answer.duration", "Time that a question was open.",
		1, 10, 60, 600, 3600, 6*3600, 86400, 3*86400, 7*86400, 21*86400)
	t.tokens = counter("interlude.tokens", "{token}", "Tokens that turns have used.")
	t.transitions = counter("interlude.transitions", "{transition}", "Changes of state of runs, and submissions.")
	t.blocked = counter("interlude.blocked", "{block}", "Runs that could not go on: retries and holds.")
	t.lost = counter("interlude.leases.lost", "{lease}", "Leases that this process has lost.")
	t.dropped = counter("interlude.notices.dropped", "{notice}", "Notices that a slow observer has lost.")
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return t, nil
}

// Inject returns a copy of meta that also has the traceparent of the span in ctx. Use it as Spec.Meta:
// the span of each turn then has a link to that span. Without a span in ctx, Inject returns meta
// itself.
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
	o := lifecycle.Observer{Transition: t.transition, Turn: t.ended, Settled: t.settled, Blocked: t.held}
	if t.meter != nil {
		o.LeaseLost = func(lifecycle.LostLease) { t.lost.Add(context.Background(), 1) }
		o.Dropped = func(n int) { t.dropped.Add(context.Background(), int64(n)) }
	}
	return o
}

func (t *Telemetry) transition(c lifecycle.Transition) {
	if t.meter != nil {
		t.transitions.Add(context.Background(), 1, metric.WithAttributes(attribute.String("from", string(c.From)),
			attribute.String("to", string(c.To)), attribute.String("trigger", string(c.Trigger)),
			engineOf(&c.ObservedRun), poolOf(&c.ObservedRun)))
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

func (t *Telemetry) settled(s lifecycle.Settlement) {
	if t.meter != nil {
		t.answer.Record(context.Background(), s.Waited.Seconds(), metric.WithAttributes(
			attribute.String("kind", string(s.Kind)), attribute.String("resolution", string(s.Resolution)),
			poolOf(&s.ObservedRun)))
	}
	t.note(s.RunID, event{"interlude.settled", s.At, []attribute.KeyValue{
		attribute.Int("interlude.question", s.InteractionID), attribute.String("interlude.kind", string(s.Kind)),
		attribute.String("interlude.resolution", string(s.Resolution)),
		attribute.Float64("interlude.waited", s.Waited.Seconds())}})
}

func (t *Telemetry) held(b lifecycle.BlockedRun) {
	kind := attribute.String("kind", string(b.Block.Kind))
	if t.meter != nil {
		t.blocked.Add(context.Background(), 1, metric.WithAttributes(kind, engineOf(&b.ObservedRun),
			poolOf(&b.ObservedRun)))
	}
	t.note(b.RunID, event{"interlude.blocked", b.At, []attribute.KeyValue{
		attribute.String("interlude.block", string(b.Block.Kind))}})
}

// note remembers an event for the span of the turn that ends next.
func (t *Telemetry) note(id string, e event) {
	if t.tracer == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.run(id); len(r.events) < maxEvents {
		r.events = append(r.events, e)
	}
}

// run returns what is remembered of the run; t.mu is held. When there is no room, any other run is
// forgotten: its next span has fewer links and events.
func (t *Telemetry) run(id string) *runTrace {
	r := t.runs[id]
	if r == nil {
		for other := range t.runs {
			if len(t.runs) < maxRuns {
				break
			}
			delete(t.runs, other)
		}
		r = new(runTrace)
		t.runs[id] = r
	}
	return r
}

func (t *Telemetry) ended(e lifecycle.EndedTurn) {
	if t.meter != nil {
		t.measure(&e)
	}
	if t.tracer == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	remembered := t.run(e.RunID)
	began := e.At.Add(-e.Usage.Worked)
	_, span := t.tracer.Start(context.Background(), "turn "+e.Engine, trace.WithNewRoot(), trace.WithTimestamp(began),
		trace.WithLinks(links(e.Meta, remembered.last)...), trace.WithAttributes(
			attribute.String("interlude.run", e.RunID), attribute.Int("interlude.attempt", e.Attempt),
			attribute.String("interlude.engine", e.Engine), attribute.String("interlude.pool", e.Pool),
			attribute.String("interlude.state", string(e.State)), attribute.Bool("interlude.stored", e.Stored),
			attribute.Float64("interlude.queued", e.Queued.Seconds()),
			attribute.Int64("gen_ai.usage.input_tokens", e.Usage.InputTokens),
			attribute.Int64("gen_ai.usage.output_tokens", e.Usage.OutputTokens)))
	for _, happened := range remembered.events {
		span.AddEvent(happened.name, trace.WithTimestamp(happened.at), trace.WithAttributes(happened.attributes...))
	}
	if e.State == lifecycle.StateWaitingUser {
		span.AddEvent("interlude.asked", trace.WithTimestamp(e.At))
	}
	if e.State == lifecycle.StateFailed {
		span.SetStatus(codes.Error, remembered.code)
		span.SetAttributes(attribute.String("error.type", remembered.code))
	}
	span.End(trace.WithTimestamp(e.At))
	*remembered = runTrace{last: span.SpanContext()}
	if e.State.Terminal() {
		delete(t.runs, e.RunID)
	}
}

func (t *Telemetry) measure(e *lifecycle.EndedTurn) {
	ctx, where := context.Background(), metric.WithAttributeSet(attribute.NewSet(engineOf(&e.ObservedRun),
		poolOf(&e.ObservedRun)))
	t.turn.Record(ctx, e.Usage.Worked.Seconds(), where,
		metric.WithAttributes(attribute.String("state", string(e.State))))
	t.queued.Record(ctx, e.Queued.Seconds(), where)
	for kind, n := range map[string]int64{"input": e.Usage.InputTokens, "output": e.Usage.OutputTokens} {
		if n > 0 {
			t.tokens.Add(ctx, n, where, metric.WithAttributes(attribute.String("gen_ai.token.type", kind)))
		}
	}
}

// links are those of a turn's span: to the span that submitted the run, and to the turn before.
func links(meta map[string]string, last trace.SpanContext) (all []trace.Link) {
	origin := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(),
		propagation.MapCarrier(meta)))
	if origin.IsValid() {
		all = append(all, trace.Link{SpanContext: origin, Attributes: []attribute.KeyValue{
			attribute.String("interlude.link", "submitted")}})
	}
	if last.IsValid() {
		all = append(all, trace.Link{SpanContext: last, Attributes: []attribute.KeyValue{
			attribute.String("interlude.link", "turn before")}})
	}
	return all
}

func engineOf(r *lifecycle.ObservedRun) attribute.KeyValue {
	return attribute.String("engine", r.Engine)
}
func poolOf(r *lifecycle.ObservedRun) attribute.KeyValue { return attribute.String("pool", r.Pool) }
