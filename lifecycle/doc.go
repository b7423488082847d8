// Package lifecycle runs agents durably, with people in the loop.
//
// A host submits a Spec; Serve claims the run, executes its turns with an engine, and parks it
// whenever a turn ends with a question. Reply, a passed deadline or Cancel settles the question
// exactly once, and the run goes on, whatever process died in between. Events follows a run from
// any point, live or long after.
//
// The way of the data is one way: a command loads the run (client.go, turn.go, recover.go), decides
// on it with fsm (pure), turns the decision into one store.Commit (commit.go), and publishes
// nothing: followers read what was stored, or are handed it by the store's hint (events.go,
// hub.go). There is no timer, semaphore or cache that has to agree with the store; the goroutines
// of Serve (serve.go) only look at it and act.
//
// Lifecycle is for processes that execute runs; Client has the same calls without Serve, for front
// ends.
//
// Below it stand engine (who executes a turn), store (who keeps the truth), interaction (questions
// and replies), slots (who may execute) and fsm (what follows from what), generated from contract.
// No package of this module imports lifecycle.
package lifecycle
