package otel

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// asksOnce works for a second, asks, works for another second, and then succeeds, or fails if the
// answer says so.
var asksOnce = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	time.Sleep(time.Second)
	if len(t.Answers) == 0 {
		return engine.Ask(engine.Question{Kind: engine.Confirm, Prompt: "Ship it?"}), nil
	}
	if t.Answers[0].Text == "fail" {
		return engine.Outcome{}, errors.New("no")
	}
	return engine.Done("Shipped."), nil
})

// serve executes runs in a bubble.
func serve(tb testing.TB, o lifecycle.Observer) (lc *lifecycle.Lifecycle, st store.Store, stop func()) {
	tb.Helper()
	st = memory.New()
	lc, stop = serveConfig(tb, lifecycle.Config{Store: st, Engine: asksOnce, Observer: o})
	return lc, st, stop
}

func serveConfig(tb testing.TB, cfg lifecycle.Config) (lc *lifecycle.Lifecycle, stop func()) {
	tb.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	lc, err := lifecycle.New(cfg)
	require.NoError(tb, err)
	ctx, cancel := context.WithCancel(tb.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	return lc, func() {
		cancel()
		require.NoError(tb, <-served)
		lc.Close()
	}
}

// roundTrip submits a run, answers it after three hours, and waits for its end.
func roundTrip(t *testing.T, lc *lifecycle.Lifecycle, id, answer string, meta map[string]string) {
	t.Helper()
	_, err := lc.Submit(t.Context(), lifecycle.Spec{ID: id, Prompt: "Go.", Meta: meta})
	require.NoError(t, err)
	time.Sleep(3 * time.Hour)
	_, err = lc.Reply(t.Context(), id, lifecycle.Reply{ID: 1, Text: answer})
	require.NoError(t, err)
	_, err = lc.Wait(t.Context(), id)
	require.NoError(t, err)
	time.Sleep(time.Second)
	synctest.Wait()
}

func named(events []sdktrace.Event) (names []string) {
	for _, e := range events {
		names = append(names, e.Name)
	}
	return names
}

// L5: a turn is a span of its working time. During a wait of hours no span is open, and links lead
// from turn to turn and to the submitter.
func TestL5ATurnIsASpanAndAWaitIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spans := tracetest.NewSpanRecorder()
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
		telemetry, err := New(Config{Traces: provider})
		require.NoError(t, err)
		lc, _, stop := serve(t, telemetry.Observer())
		defer stop()
		ctx, request := provider.Tracer("test").Start(t.Context(), "request")
		meta := Inject(ctx, map[string]string{"tenant": "acme"})
		request.End()
		require.Equal(t, "acme", meta["tenant"])
		roundTrip(t, lc, "good", "yes", meta)
		ended := spans.Ended()[1:]
		require.Len(t, ended, 2)
		require.Len(t, spans.Ended(), len(spans.Started()), "no span is open")
		for _, s := range ended {
			require.Equal(t, "turn default", s.Name())
			require.Equal(t, time.Second, s.EndTime().Sub(s.StartTime()))
			require.False(t, s.Parent().IsValid())
			require.Equal(t, request.SpanContext().SpanID(), s.Links()[0].SpanContext.SpanID())
			require.Contains(t, s.Attributes(), attribute.String("interlude.run", "good"))
		}
		require.Equal(t, []string{"interlude.asked"}, named(ended[0].Events()))
		require.Equal(t, []string{"interlude.settled"}, named(ended[1].Events()))
		require.Equal(t, ended[0].SpanContext().SpanID(), ended[1].Links()[1].SpanContext.SpanID())
		require.Greater(t, ended[1].StartTime().Sub(ended[0].EndTime()), 2*time.Hour)

		roundTrip(t, lc, "bad", "fail", nil)
		last := spans.Ended()[len(spans.Ended())-1]
		require.Equal(t, codes.Error, last.Status().Code)
		require.Contains(t, last.Attributes(), attribute.String("error.type", "ENGINE_FAILED"))
		require.Empty(t, telemetry.runs, "ended runs leave no memory")
		require.Len(t, spans.Ended(), len(spans.Started()), "no span is open")
	})
}

// L5: links lead from turn to turn across processes, because the previous turn's traceparent is
// stored with the run. The engine's spans are part of the turn. No link leads to an unsampled span.
func TestL5LinksLeadFromProcessToProcess(t *testing.T) {
	st := memory.New()
	samplers := []sdktrace.Sampler{sdktrace.AlwaysSample(), sdktrace.AlwaysSample(), sdktrace.NeverSample(),
		sdktrace.AlwaysSample()}
	var turns []trace.SpanContext
	for attempt, sampler := range samplers {
		spans := tracetest.NewSpanRecorder()
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans), sdktrace.WithSampler(sampler))
		agent := engine.Func(func(ctx context.Context, turn engine.Turn, _ engine.Sink) (engine.Outcome, error) {
			_, call := provider.Tracer("model").Start(ctx, "call")
			call.End()
			turns = append(turns, trace.SpanContextFromContext(ctx))
			if turn.Attempt == len(samplers) {
				return engine.Done("Shipped."), nil
			}
			return engine.Ask(engine.Question{Kind: engine.Confirm, Prompt: "Ship it?"}), nil
		})
		run := turnInAProcess(t, st, provider, agent, attempt)
		ended := spans.Ended()
		if attempt == 2 {
			require.Empty(t, ended)
			require.Equal(t, traceparent(turns[1]), run.Trace)
			continue
		}
		require.Equal(t, traceparent(turns[attempt]), run.Trace)
		require.Len(t, ended, 2)
		require.Equal(t, turns[attempt].SpanID(), ended[0].Parent().SpanID(), "the call is part of the turn")
		require.Equal(t, turns[attempt], ended[1].SpanContext())
		var before []string
		for _, link := range ended[1].Links() {
			before = append(before, traceparent(link.SpanContext))
		}
		switch attempt {
		case 0:
			require.Empty(t, before)
		default: // the previous turn, or the one before it, because the third is not sampled
			require.Equal(t, []string{traceparent(turns[attempt/2])}, before)
		}
	}
}

// turnInAProcess executes a turn like a separate process, with its Telemetry, and returns the run
// afterwards.
func turnInAProcess(t *testing.T, st store.Store, provider trace.TracerProvider, agent engine.Engine,
	attempt int,
) lifecycle.Run {
	t.Helper()
	telemetry, err := New(Config{Traces: provider})
	require.NoError(t, err)
	observer, done := telemetry.Observer(), make(chan struct{})
	end := observer.Turn
	observer.Turn = func(e lifecycle.EndedTurn) {
		end(e)
		close(done)
	}
	lc, stop := serveConfig(t, lifecycle.Config{Store: st, Engine: agent, Observer: observer})
	if attempt == 0 {
		_, err = lc.Submit(t.Context(), lifecycle.Spec{ID: "r", Prompt: "Go."})
	} else {
		_, err = lc.Reply(t.Context(), "r", lifecycle.Reply{ID: attempt, Text: "yes"})
	}
	require.NoError(t, err)
	<-done
	run, err := lc.Get(t.Context(), "r")
	require.NoError(t, err)
	stop()
	return run
}

// L5: a stored traceparent is read back, and any other text is not a link.
func TestL5OnlyATraceparentIsALink(t *testing.T) {
	const text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	require.Equal(t, text, traceparent(spanOf(text)))
	for _, other := range []string{"", "job 7", strings.ToUpper(text), strings.Replace(text, "b7", "gg", 1),
		strings.Repeat("0", len(text))} {
		require.Empty(t, links(nil, other), other)
	}
}

// L5: an unavailable store omits gauges, and a panic of an exporter changes no run.
func TestL5TelemetryChangesNoOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		telemetry, err := New(Config{Traces: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(bad{}))})
		require.NoError(t, err)
		lc, _, stop := serve(t, telemetry.Observer())
		defer stop()
		roundTrip(t, lc, "r", "yes", nil)
		run, err := lc.Get(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, lifecycle.StateSucceeded, run.State)
	})
}

// bad is a span processor that panics.
type bad struct{ sdktrace.SpanProcessor }

func (bad) OnStart(context.Context, sdktrace.ReadWriteSpan) { panic("out of order") }

// L5: without providers there is no observer, so nothing is called or stored.
func TestL5WithoutProvidersThereIsNoObserver(t *testing.T) {
	telemetry, err := New(Config{})
	require.NoError(t, err)
	o := telemetry.Observer()
	require.True(t, o.Transition == nil && o.Turn == nil && o.Settled == nil && o.Blocked == nil &&
		o.LeaseLost == nil && o.Dropped == nil)
	stop, err := telemetry.Gauges(nil, nil)
	require.NoError(t, err)
	require.NoError(t, stop())
}

// L5: the memory about waiting runs is limited.
func TestL5MemoryIsBounded(t *testing.T) {
	telemetry, err := New(Config{Traces: sdktrace.NewTracerProvider()})
	require.NoError(t, err)
	for i := range maxRuns + 100 {
		id := string(rune('a'+i%26)) + time.Duration(i).String()
		telemetry.observeSettlement(lifecycle.Settlement{ObservedRun: lifecycle.ObservedRun{RunID: id}})
	}
	for range maxEvents + 10 {
		telemetry.observeSettlement(lifecycle.Settlement{ObservedRun: lifecycle.ObservedRun{RunID: "r"}})
	}
	require.Len(t, telemetry.runs, maxRuns)
	require.Len(t, telemetry.runs["r"].events, maxEvents)
}

func TestInjectWithoutASpanChangesNothing(t *testing.T) {
	require.Nil(t, Inject(t.Context(), nil))
	require.False(t, trace.SpanContextFromContext(t.Context()).IsValid())
}

// BenchmarkNotices measures the calls of one round trip without the round trip; interlude-bench
// -telemetry measures both together.
func BenchmarkNotices(b *testing.B) {
	for name, cfg := range map[string]Config{
		"metrics": {Metrics: sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))},
		"traces":  {Traces: sdktrace.NewTracerProvider(sdktrace.WithBatcher(tracetest.NewNoopExporter()))},
		"sampled": {Traces: sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))},
	} {
		b.Run(name, func(b *testing.B) {
			telemetry, err := New(cfg)
			require.NoError(b, err)
			b.ReportAllocs()
			for o := telemetry.Observer(); b.Loop(); {
				notices(&o)
			}
		})
	}
}

// notices calls the observer as in a round trip.
func notices(o *lifecycle.Observer) {
	const before = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	start := func(s lifecycle.StartedTurn) (ctx context.Context) {
		if o.Start != nil {
			ctx, _ = o.Start(context.Background(), s)
		}
		return ctx
	}
	run := lifecycle.ObservedRun{RunID: "r", Engine: "default", Pool: "default", At: time.Unix(1, 0)}
	for _, c := range []lifecycle.Transition{
		{To: lifecycle.StateQueued},
		{From: lifecycle.StateQueued, To: lifecycle.StateRunning, Trigger: "turn.started"},
		{From: lifecycle.StateRunning, To: lifecycle.StateWaitingUser, Trigger: "turn.needs_input"},
		{From: lifecycle.StateWaitingUser, To: lifecycle.StateQueued, Trigger: "interaction.reply.accepted"},
		{From: lifecycle.StateQueued, To: lifecycle.StateRunning, Trigger: "turn.started"},
		{From: lifecycle.StateRunning, To: lifecycle.StateSucceeded, Trigger: "turn.succeeded"},
	} {
		c.ObservedRun = run
		o.Transition(c)
	}
	o.Turn(lifecycle.EndedTurn{ObservedRun: run, State: lifecycle.StateWaitingUser, Stored: true,
		Context: start(lifecycle.StartedTurn{ObservedRun: run})})
	o.Settled(lifecycle.Settlement{ObservedRun: run, InteractionID: 1, Kind: lifecycle.Confirm})
	o.Turn(lifecycle.EndedTurn{ObservedRun: run, State: lifecycle.StateSucceeded, Stored: true,
		Context: start(lifecycle.StartedTurn{ObservedRun: run, Before: before})})
}
