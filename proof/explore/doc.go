// Package explore is a model checker for the contract. It visits, breadth first, every state that a
// run can reach, together with its slot, pending question, deadline, lease, epoch, receipts and
// answer, while nodes claim, execute, pause and die, people reply and cancel, deadlines pass, and
// acknowledgements are lost. It checks every invariant in each state.
//
// The rules of a run come from lifecycle.json, through contract.Lifecycle's own interpreter and
// never through the generated machine. The surrounding protocol (one commit for a transition, by
// compare-and-set on the run's version; fencing by node and epoch; leases by the store's clock;
// slots within the record; receipts by key) is written here as small steps, as implemented by
// package lifecycle and specified by package store. Every guard of that protocol is a Switch: with
// the guard switched off, the explorer must find a counter-example, or the guard would not be
// needed.
//
// audit.Checker checks the events of the steps; promises.go has the promises of the protocol
// itself. Everything is pure: no I/O, no clock, no goroutine. docs/internals/model.md describes the
// model, its bounds, and how to read a counter-example.
package explore
