// Package lifecycle runs agents durably, with people in the loop.
//
// A host submits a Spec; Serve claims the run, executes its turns with an engine, and parks it
// whenever a turn ends with a question. Reply, a passed deadline or Cancel settles the question
// exactly once, and the run goes on, whatever process died in between. Events follows a run from
// any point, live or long after.
//
// The way of the data is one way. A command loads the run (client.go, reply.go, cancel.go, turn.go,
// recovery.go), decides on it (decide.go, pure, with the tables of package fsm), and stores the
// decision as one store.Commit (commit.go). Nothing is published beside the commit: followers read
// the events that were stored, or are handed them by the store's hints (events.go). There is no
// timer, semaphore or cache that has to agree with the store; the goroutines of Serve (serve.go)
// only read it and act.
//
// Lifecycle is for processes that execute runs; Client has the same calls without Serve, for front
// ends.
//
// Below it stand engine (who executes a turn), store (who keeps the truth), interaction (questions
// and replies), slots (who may execute) and fsm (what follows from what), generated from contract.
// No package of this module imports lifecycle.
package lifecycle
