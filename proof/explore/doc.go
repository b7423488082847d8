// Package explore is a model checker for the contract: it walks, breadth first, every state that a
// run can reach together with its slot, pending question, deadline, lease, epoch, receipts and
// answer, while nodes claim, execute, pause and die, people reply and cancel, deadlines pass, and
// acknowledgements are lost; and it checks every invariant in each of them.
//
// What may happen to a run is taken from lifecycle.json, through contract.Lifecycle's own
// interpreter and never through the generated machine. The protocol around it (one commit for a
// transition, by compare-and-set on the run's version; fencing by node and epoch; leases by the
// store's clock; slots within the record; receipts by key) is written here as small steps, in the
// way of package lifecycle and the page of contract of package store. Every guard of that protocol
// is a Switch: taken away, the explorer must find a shortest counter-example, or the guard would be
// for nothing.
//
// What the steps tell as events is judged by audit.Checker, the promises of the protocol itself
// by the laws of laws.go. Everything is pure: no I/O, no clock, no goroutine. docs/model.md says
// what is modelled, within which bounds, and how to read a counter-example.
package explore
