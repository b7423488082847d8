// Package crash stops a host at every place where the library has called its store and has not yet
// got the answer.
//
// A Store numbers the calls of a host: commits, claims, leases, reads. A Scenario is a fixed piece
// of work: some runs, an agent, and people who answer and cancel. It is played once to find its
// points, and then once for each point and outcome: the process ends before the store has executed
// the call; it ends after that; or it goes on without getting the answer. Another host then
// finishes the work, and Judge checks what is left: logs, slots, receipts, and the journal of what
// the agent was really given.
//
// Command host is such a host as a process of its own, which kills itself with kill -9. The tests
// play all scenarios on all stores; docs/internals/proof.md has more about it.
package crash
