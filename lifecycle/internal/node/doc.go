// Package node does the work of a serving process: it claims runs, executes their turns with
// engines, fires deadlines, and recovers the runs of dead processes. It loads a run, package decide
// decides, and Process stores the commit. Package lifecycle starts this work in Serve and Recover;
// Config, Specs and Notices are a node's interface to it.
//
// No process state has to agree with the store: a node's loops rely on its compare-and-set and each
// commit's fence. Where to start reading:
//
//	a command   Process, CarryOut (process.go); due times (due.go), clocks (clock.go)
//	a node      Join, Node.Serve and its loops (node.go), its lease (heartbeat.go, lease.go)
//	a claim     schedule, claimReady, dispatch to a worker (scheduler.go); claim, which also keeps
//	            suspects apart (suspects.go); the order among the nodes (claims.go)
//	a turn      turn.run and settle (turn.go), execute (execute.go), the engine's input (input.go),
//	            its commits (commit.go, lock.go) and reports (sink.go): journal, transactions, children
//	            (journal.go, transaction.go, children.go); its resident process (resident.go)
//	recovery    Recoverer.Pass (recovery.go), the evidence about orphans (orphans.go), the sessions
//	            of parked runs (sessions.go)
//	deadlines   Deadlines.Serve (deadlines.go), parents and children (family.go)
//	policy      the host's decisions about approvals (policy.go)
//
// Engines are called only through Guard and Call (calls.go). A turn uses its node only as a member
// and as its turnOwner, so the groups above can be read separately.
package node
