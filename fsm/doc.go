// Package fsm defines the life of a run as pure functions: Next returns the transition for an event
// in a state, Decide the result of a finished turn, and Wait how a waiting run treats its slot and
// its deadline.
//
// Everything is generated from contract/lifecycle.json into the tables in *.gen.go. Conditions are
// sets of named facts that the caller has established. Effects are data: a Transition lists the
// effect on the slot and the events to emit, and executes nothing. All runs share the machines
// (qmuntal/stateless), one for each state, because a run's state is stored with the run; the
// store's compare-and-set makes a decision take effect.
//
// The package is safe for concurrent use, does no I/O, reads no clock, and imports no other package
// of this module. lifecycle turns its answers into commits.
package fsm
