// Package explain describes the ids of the contract. For each state, event, transition, rule, code,
// event type, invariant and requirement it has the text, the parameters, and the references to it.
// An Index is created once and then only read.
//
// All of it comes from package contract, so it cannot be out of date. The command contract/check
// shows it with -explain.
package explain
