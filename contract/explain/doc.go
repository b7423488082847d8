// Package explain describes the ids of the contract: for each state, event, transition, rule, code,
// event type, invariant and requirement its text, its parameters, and the references to it.
//
// All of it comes from package contract, so it cannot be out of date. The command contract/check
// shows it with -explain.
package explain
