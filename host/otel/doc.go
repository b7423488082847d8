// Package otel reports runs to OpenTelemetry: traces and metrics.
//
// Telemetry.Observer is a lifecycle.Observer. Its notifications arrive after the commit and may be
// lost: spans may be missing, the events of a run are complete.
//
// A turn is a span, and the parent of its engine's spans. While a run waits for a person, no span
// is open: each turn is a separate trace, with links to the span that submitted the run (Inject
// puts it into Spec.Meta) and to the previous turn in any process, whose traceparent is stored by
// the commit that ended it. Replies, deadlines and retries between two turns in this process become
// events of the second turn's span.
//
// The package needs only the OpenTelemetry API; the host chooses the SDK and the exporters.
// docs/telemetry.md lists spans and metrics.
package otel
