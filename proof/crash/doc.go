// Package crash stops a host at every place where the library waits for its store's answer.
//
// A Store numbers the calls of a host: commits, claims, leases, reads. A Scenario is a fixed piece
// of work: some runs, an agent, and people who answer and cancel. It is played once to find its
// points, and then once for each point and outcome: the process ends before the store has executed
// the call, or after that, or it continues without the answer. Another host then finishes the work,
// and Judge checks the result: logs, slots, receipts, and the journal of the agent's real inputs.
//
// Command host is a host as a separate process, which kills itself with kill -9. The tests play all
// scenarios on all stores; see docs/internals/proof.md.
package crash
