package otel

import (
	"context"
	"encoding/hex"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/interlude-go/interlude/lifecycle"
)

const (
	maxRuns   = 10_000
	maxEvents = 32 // per run
)

// runTrace is the memory about a run until its next span ends in this process.
type runTrace struct {
	events []event
	code   string // the run's error code
}

// event is a settled question, or a block. Its attributes are built only if the span is recorded.
type event struct {
	at         time.Time
	block      lifecycle.BlockKind // empty: a settled question
	question   int
	kind       lifecycle.Kind
	resolution lifecycle.Resolution
	waited     time.Duration
}

func (e *event) addTo(span trace.Span) {
	name, is := "interlude.blocked", trace.WithAttributes(keyBlock.String(string(e.block)))
	if e.block == "" {
		name, is = "interlude.settled", trace.WithAttributes(attribute.Int("interlude.question", e.question),
			keyKind.String(string(e.kind)), keyResolution.String(string(e.resolution)),
			attribute.Float64("interlude.waited", e.waited.Seconds()))
	}
	span.AddEvent(name, trace.WithTimestamp(e.at), is)
}

// place is an engine and a pool. There are few, so their attributes are built once.
type place struct{ engine, pool string }

type placeSpan struct {
	name string
	is   trace.SpanStartOption // its attributes, visible to samplers
}

// note stores an event for the next span of the run that ends.
func (t *Telemetry) note(id string, e event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.run(id); len(r.events) < maxEvents {
		r.events = append(r.events, e)
	}
}

// run returns the run's memory; t.mu is held. Without room, an arbitrary run is dropped, whose next
// span then has fewer events.
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

func (t *Telemetry) forget(id string) *runTrace {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.runs[id]
	if r != nil {
		delete(t.runs, id)
	}
	return r
}

// startTurn starts the span of a turn, the parent of the engine's spans. It returns the traceparent
// of a sampled span, which is stored at the end of the turn, so that the next turn's span can link
// to it in any process.
func (t *Telemetry) startTurn(ctx context.Context, s lifecycle.StartedTurn) (forEngine context.Context, stored string) {
	span := t.span(&s.ObservedRun, s.At, links(s.Meta, s.Before))
	if at := span.SpanContext(); at.IsSampled() {
		stored = traceparent(at)
	}
	return trace.ContextWithSpan(ctx, span), stored
}

// span starts the span of a turn as the root of a trace: spans in the host's context are unrelated
// to the turn. Options without effect are omitted, because the SDK allocates for each.
func (t *Telemetry) span(run *lifecycle.ObservedRun, since time.Time, links []trace.Link) trace.Span {
	at := t.place(place{run.Engine, run.Pool})
	options := append(make([]trace.SpanStartOption, 0, 3), trace.WithTimestamp(since), at.is)
	if len(links) > 0 {
		options = append(options, trace.WithLinks(links...))
	}
	_, span := t.tracer.Start(context.Background(), at.name, options...) //nolint:spancheck // end ends it
	return span                                                          //nolint:spancheck // end ends it
}

// end ends the span of a turn. If the engine was not called, it first starts the span.
func (t *Telemetry) end(e *lifecycle.EndedTurn) {
	remembered := t.forget(e.RunID)
	var span trace.Span
	if e.Context != nil {
		span = trace.SpanFromContext(e.Context)
	} else {
		span = t.span(&e.ObservedRun, e.At.Add(-e.Usage.Worked), links(e.Meta, ""))
	}
	at := trace.WithTimestamp(e.At)
	if span.IsRecording() {
		describe(span, e, remembered)
		if e.State == lifecycle.StateWaitingUser {
			span.AddEvent("interlude.asked", at)
		}
	}
	span.End(at)
}

func (t *Telemetry) place(at place) *placeSpan {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.places[at]
	if p == nil {
		p = &placeSpan{"turn " + at.engine, trace.WithAttributes(keyEngine.String(at.engine), keyPool.String(at.pool))}
		if len(t.places) < maxSeries {
			t.places[at] = p
		}
	}
	return p
}

// describe sets the attributes of a turn's span, and adds the events since the previous turn in
// this process. remembered may be nil.
func describe(span trace.Span, e *lifecycle.EndedTurn, remembered *runTrace) {
	attributes := append(make([]attribute.KeyValue, 0, 8), attribute.String("interlude.run", e.RunID),
		attribute.Int("interlude.attempt", e.Attempt), keyState.String(string(e.State)),
		attribute.Bool("interlude.stored", e.Stored), attribute.Float64("interlude.queued", e.Queued.Seconds()))
	if e.Usage.InputTokens > 0 || e.Usage.OutputTokens > 0 {
		attributes = append(attributes, attribute.Int64("gen_ai.usage.input_tokens", e.Usage.InputTokens),
			attribute.Int64("gen_ai.usage.output_tokens", e.Usage.OutputTokens))
	}
	if remembered == nil {
		remembered = &runTrace{}
	}
	if e.State == lifecycle.StateFailed {
		span.SetStatus(codes.Error, remembered.code)
		attributes = append(attributes, keyError.String(remembered.code))
	}
	span.SetAttributes(attributes...)
	for i := range remembered.events {
		remembered.events[i].addTo(span)
	}
}

// The attributes of links, which name their targets.
var (
	linkSubmitted = []attribute.KeyValue{attribute.String("interlude.link", "submitted")}
	linkBefore    = []attribute.KeyValue{attribute.String("interlude.link", "turn before")}
)

// links returns the links of a turn's span: to the span that submitted the run, if its traceparent
// is in the run's Meta, and to the previous turn's span, if its traceparent is stored.
func links(meta map[string]string, before string) (all []trace.Link) {
	if meta["traceparent"] != "" { // otherwise the propagator would allocate
		submitted := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(),
			propagation.MapCarrier(meta)))
		if submitted.IsValid() {
			all = append(all, trace.Link{SpanContext: submitted, Attributes: linkSubmitted})
		}
	}
	if last := spanOf(before); last.IsValid() {
		all = append(all, trace.Link{SpanContext: last, Attributes: linkBefore})
	}
	return all
}

// traceparent returns the span in the W3C Trace Context format, version 00.
func traceparent(span trace.SpanContext) string {
	id, of, flags := span.SpanID(), span.TraceID(), [1]byte{byte(span.TraceFlags())}
	text := append(make([]byte, 0, len("00-")+2*len(of)+1+2*len(id)+len("-01")), "00-"...)
	text = append(hex.AppendEncode(text, of[:]), '-')
	text = append(hex.AppendEncode(text, id[:]), '-')
	return string(hex.AppendEncode(text, flags[:]))
}

// spanOf parses traceparent's text. Other texts give an invalid span context.
func spanOf(text string) trace.SpanContext {
	if len(text) != len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01") {
		return trace.SpanContext{}
	}
	of, wrong := trace.TraceIDFromHex(text[3:35])
	id, bad := trace.SpanIDFromHex(text[36:52])
	if wrong != nil || bad != nil {
		return trace.SpanContext{}
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: of, SpanID: id, TraceFlags: trace.FlagsSampled,
		Remote: true})
}
