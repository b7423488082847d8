// Package fsm is the life of a run as pure functions: Next says which transition an event causes in
// a state, Decide what follows from a finished turn, and Wait what a waiting run does with its slot
// and its deadline.
//
// All it knows is generated from contract/lifecycle.json; the files *.gen.go are its tables.
// Conditions are sets of named facts that the caller has established. Effects are data: a
// Transition says what becomes of the slot and which events are emitted; it carries nothing out.
// All runs share the machines (qmuntal/stateless), one for each state, because a run's state is
// stored with the run; the store's compare-and-set makes a decision count.
//
// The package is safe for concurrent use, does no I/O, looks at no clock, and imports nothing of
// ours. lifecycle turns its answers into commits.
package fsm
