// Package otel reports what a host's runs do to OpenTelemetry: traces and metrics.
//
// Telemetry.Observer is a lifecycle.Observer. Metrics are made of its notices, which come after the
// commit and may be lost, so telemetry changes no outcome. It is a view, not a record: the
// events of a run are complete, its spans need not be.
//
// A turn is a span, and the parent of the spans that its engine makes. While a person thinks no
// span is open: each turn is a trace of its own, with a link to the span that submitted the run
// (Inject puts it into Spec.Meta), and to the turn before, whichever process executed that and
// however long ago: its traceparent is stored with the run, by the commit that ended it. What
// happened to the run between two turns in this process, such as a reply, a deadline or a retry,
// are events of the second one's span.
//
// The package needs OpenTelemetry's API only; the host chooses SDK and exporters. It stands above
// lifecycle, beside the front ends in host. docs/telemetry.md lists spans and metrics.
package otel
