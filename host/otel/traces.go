package otel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/interlude-go/interlude/lifecycle"
)

// Bounds of what is remembered between the turns of a run.
const (
	maxRuns   = 10_000
	maxEvents = 32 // a run
)

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

// place is where runs are executed. There are few of them, so what says it is made once.
type place struct{ engine, pool string }

// placeSpan is what the spans of all turns of a place have alike.
type placeSpan struct {
	name string
	is   trace.SpanStartOption // its attributes, which a sampler sees
}

// note remembers an event for the span of the turn that ends next.
func (t *Telemetry) note(id string, e event) {
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

// span makes the span of a turn that has ended.
func (t *Telemetry) span(e *lifecycle.EndedTurn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	remembered := t.run(e.RunID)
	at := t.place(place{e.Engine, e.Pool})
	began := e.At.Add(-e.Usage.Worked)
	_, span := t.tracer.Start(context.Background(), at.name, trace.WithNewRoot(), trace.WithTimestamp(began), at.is,
		trace.WithLinks(links(e.Meta, remembered.last)...))
	if span.IsRecording() {
		describe(span, e, remembered)
	}
	span.End(trace.WithTimestamp(e.At))
	if e.State.Terminal() {
		delete(t.runs, e.RunID)
		return
	}
	*remembered = runTrace{last: span.SpanContext()}
}

// place returns what the spans of the place have alike; t.mu is held.
func (t *Telemetry) place(at place) *placeSpan {
	p := t.places[at]
	if p == nil {
		p = &placeSpan{"turn " + at.engine, trace.WithAttributes(keyEngine.String(at.engine), keyPool.String(at.pool))}
		if len(t.places) < maxSeries {
			t.places[at] = p
		}
	}
	return p
}

// describe adds what happened in the turn, and since the turn before.
func describe(span trace.Span, e *lifecycle.EndedTurn, remembered *runTrace) {
	attributes := append(make([]attribute.KeyValue, 0, 8), attribute.String("interlude.run", e.RunID),
		attribute.Int("interlude.attempt", e.Attempt), keyState.String(string(e.State)),
		attribute.Bool("interlude.stored", e.Stored), attribute.Float64("interlude.queued", e.Queued.Seconds()))
	if e.Usage.InputTokens > 0 || e.Usage.OutputTokens > 0 {
		attributes = append(attributes, attribute.Int64("gen_ai.usage.input_tokens", e.Usage.InputTokens),
			attribute.Int64("gen_ai.usage.output_tokens", e.Usage.OutputTokens))
	}
	if e.State == lifecycle.StateFailed {
		span.SetStatus(codes.Error, remembered.code)
		attributes = append(attributes, keyError.String(remembered.code))
	}
	span.SetAttributes(attributes...)
	for _, happened := range remembered.events {
		span.AddEvent(happened.name, trace.WithTimestamp(happened.at), trace.WithAttributes(happened.attributes...))
	}
	if e.State == lifecycle.StateWaitingUser {
		span.AddEvent("interlude.asked", trace.WithTimestamp(e.At))
	}
}

// The attributes of links, which say where they lead.
var (
	linkSubmitted = []attribute.KeyValue{attribute.String("interlude.link", "submitted")}
	linkBefore    = []attribute.KeyValue{attribute.String("interlude.link", "turn before")}
)

// links are those of a turn's span: to the span that submitted the run, and to the turn before.
func links(meta map[string]string, last trace.SpanContext) (all []trace.Link) {
	if meta["traceparent"] != "" { // without it, the propagator would allocate for nothing
		origin := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(),
			propagation.MapCarrier(meta)))
		if origin.IsValid() {
			all = append(all, trace.Link{SpanContext: origin, Attributes: linkSubmitted})
		}
	}
	if last.IsValid() {
		all = append(all, trace.Link{SpanContext: last, Attributes: linkBefore})
	}
	return all
}
