// Package contract defines the life of a run as data: lifecycle.json, the single source of truth
// for states, events, transitions, guards, the completion gate, the waiting policy, codes, event
// payloads and invariants. Ids are never reused.
//
// Parse checks that a contract is sound: nothing unknown, no gap, no overlap, no rule without
// effect. Lifecycle.Next, Decide and Wait interpret it directly and slowly, as the reference for
// the generated code: package fsm, the diagram and the tables of README.md.
//
// Package fcmp writes and reads the events of a run, and package audit checks the invariants on
// recorded logs. Nothing here does I/O, reads a clock or starts a goroutine.
package contract
