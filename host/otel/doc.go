// Package otel reports what a host's runs do to OpenTelemetry: traces and metrics.
//
// Telemetry.Observer is a lifecycle.Observer, and the traces and most metrics are made of its notices
// alone. A notice comes after the commit and may be lost, so telemetry changes no outcome and delays no
// run (L5). It is a view, not a record: the events of a run are complete, its spans need not be.
//
// A turn is a span, which is made when the turn has ended. While a person thinks no span is open, and
// nothing is kept open for weeks: each turn is a trace of its own, with a link to the span that
// submitted the run (Inject puts it into Spec.Meta) and, if this process executed the turn before, to
// that one. What happened to the run since then in this process, such as a reply, a deadline or a
// retry, are events of the next turn's span.
//
// The package needs OpenTelemetry's API only; the host chooses SDK and exporters. It stands above
// lifecycle, beside the other doors in host. docs/telemetry.md lists spans and metrics.
package otel
