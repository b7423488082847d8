// Package contract holds the life of a run as data: lifecycle.json, the single source of truth for
// states, events, transitions, guards, the completion gate, the waiting policy, codes, event
// payloads and invariants, each with an id that is never used again.
//
// Four things are made of it. The generator in gen writes the fsm package, the diagram and the
// tables of README.md. Model interprets the file directly, slowly and obviously, to judge the
// generated machine. Encode and Decode write and read FCMP, the events that a run shows to the
// outside, each payload held to its schema in events/; each has a fast way for what is plain, and a
// slow one that judges all else and that the fast one is held to. Checker decides the invariants on
// recorded event logs.
//
// The package stands beside the others: lifecycle encodes its events here, fsm is generated from
// here, and nothing here does I/O, looks at a clock or starts a goroutine.
package contract
