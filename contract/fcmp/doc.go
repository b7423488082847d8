// Package fcmp is the event protocol: the events that a run shows to the outside, each payload
// checked against its schema in contract/events.
//
// Each payload is a struct, generated from its schema with the method that writes and checks it.
// Encode and Append write an event, Decode reads one, and Verify reads one and checks it against
// its schema. Decode and Verify have a fast path for the form that Encode writes, and a slow path
// for everything else.
package fcmp
