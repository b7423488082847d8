// Package contract holds the life of a run as data: lifecycle.json, the single source of truth for
// states, events, transitions, guards, the completion gate, the waiting policy, codes, event
// payloads and invariants, each with an id that is never used again.
//
// Parse checks that a contract is sound: nothing unknown, no gap, no overlap, no rule that never
// decides. Lifecycle.Next, Decide and Wait interpret it directly, slowly and obviously, to judge
// the machine that the generator in gen makes of it: package fsm, the diagram and the tables of
// README.md.
//
// Beside it, package fcmp writes and reads the events that a run shows to the outside, and package
// audit decides the invariants on recorded event logs; the command in check is made of that.
// Nothing here does I/O, looks at a clock or starts a goroutine.
package contract
