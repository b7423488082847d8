// Package explain says what the ids of the contract mean: of a state, an event, a transition, a
// rule, a code, an event type, an invariant or a requirement, what it says, and which others name
// it. An Index is made once and then only read.
//
// It reads the contract as package contract gives it and adds nothing of its own, so that what it
// says cannot be out of date. The command contract/check shows it with -explain.
package explain
