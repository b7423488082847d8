// Package node has the work of a serving process: it claims runs, executes their turns with
// engines, fires deadlines, and recovers the runs of dead processes. It loads a run, package decide
// decides, and Process stores the commit. Package lifecycle starts this work in Serve and Recover;
// Config, Specs and Notices are a node's interface to it.
//
// No process state has to agree with the store: a node's loops read the store, act, and rely on its
// compare-and-set and each commit's fence. Where to start reading:
//
//	a node      Join, Node.Serve and its loops (node.go), its lease (heartbeat.go, lease.go)
//	a claim     schedule, claim and dispatch to a worker (scheduler.go); runs that have lost their
//	            workers (suspects.go)
//	a turn      turn.run and settle (turn.go), execute (execute.go), the engine's input (input.go),
//	            its reports (sink.go), journal, children and transactions; commits (commit.go)
//	recovery    Recoverer (recovery.go), engine calls about orphans (orphans.go), the sessions of
//	            parked runs (sessions.go)
//	deadlines   Deadlines (deadlines.go), parents and children (family.go)
//
// A turn uses its node only as a member and as its turnOwner, so the groups above can be read
// separately.
package node
