package examples_test

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/interlude-go/interlude/host/otel"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/sqlite"
)

// A turn is a span. It links to the previous turn's span, even if another process executed that,
// perhaps weeks ago: the traceparent is stored with the run. Replace the exporter with yours.
func Example_trace() {
	name, remove := file()
	defer remove()
	exporter := tracetest.NewInMemoryExporter()
	inAProcess(name, exporter, func(ctx context.Context, lc *lifecycle.Lifecycle) {
		_, err := lc.Submit(ctx, lifecycle.Spec{ID: "release-1", Prompt: "Ship version 1."})
		must(err)
		untilAsked(ctx, lc, "release-1")
	})
	inAProcess(name, exporter, func(ctx context.Context, lc *lifecycle.Lifecycle) {
		_, err := lc.Reply(ctx, "release-1", lifecycle.Reply{ID: 1, Text: "yes"})
		must(err)
		_, err = lc.Wait(ctx, "release-1")
		must(err)
	})
	spans := exporter.GetSpans()
	for _, span := range spans {
		fmt.Println(span.Name, "has", len(span.Links), "links")
	}
	fmt.Println("to the turn before:", spans[1].Links[0].SpanContext.SpanID() == spans[0].SpanContext.SpanID())
	// Output:
	// turn default has 0 links
	// turn default has 1 links
	// to the turn before: true
}

// inAProcess opens the file, serves, and reports to the exporter, as each process of a host does.
func inAProcess(name string, exporter trace.SpanExporter, work func(context.Context, *lifecycle.Lifecycle)) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	st, err := sqlite.Open(ctx, name, sqlite.Options{})
	must(err)
	defer st.Close()
	provider := trace.NewTracerProvider(trace.WithSyncer(exporter))
	telemetry, err := otel.New(otel.Config{Traces: provider})
	must(err)
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: shipper, Forgiving: true,
		Observer: telemetry.Observer()})
	must(err)
	defer lc.Close() // the last notifications are delivered
	defer serve(lc)()
	work(ctx, lc)
}
