// Package fcmp is the event protocol: the events that a run shows to the outside, each payload held
// to its schema in contract/events.
//
// Each payload is a struct, generated from its schema together with the method that writes it and
// holds it to the schema. Encode and Append write an event, Decode reads one, and Verify reads one
// and holds it to its schema. The last two have a fast way for the form that Encode writes, and a
// slow one that judges everything else and that tests hold the fast one to.
//
// Package lifecycle writes events with it, hosts read them with it. It knows the contract and
// nothing else of ours.
package fcmp
