// Package crash stops a host at every place where the library has asked its store for something and
// has not yet learned the answer.
//
// A Store numbers what a host asks: commits, claims, leases, looks. A Scenario is a fixed piece of
// work: some runs, an agent, and people who answer and cancel. It is played once to find its
// points, and then once for each point and outcome: the process ends before the store did it, after
// the store did it, or goes on without being told that the store did it. Another host then brings
// the work to its end, and Judge looks at what is left: logs, slots, receipts, and the journal of
// what the agent was really given.
//
// Command host is such a host as a process of its own, which ends itself with kill -9. The tests
// play on all stores; docs/proof.md tells more.
package crash
