// Package fcmp is the event protocol: the events that a run shows to the outside, each payload
// checked against its schema in contract/events.
//
// Each payload is a struct, generated from its schema together with the method that writes it and
// checks it against the schema. Encode and Append write an event, Decode reads one, and Verify
// reads one and checks it against its schema. Decode and Verify have a fast path for the form that
// Encode writes, and a slow path for everything else. Tests compare the two.
//
// Package lifecycle writes events with it, hosts read them with it. It knows the contract and
// nothing else of ours.
package fcmp
