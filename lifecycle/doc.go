// Package lifecycle runs agents durably, with people in the loop.
//
// A host submits a Spec; Serve claims the run, executes its turns with an engine, and parks it
// whenever a turn ends with a question. Reply, a passed deadline or Cancel settles the question
// exactly once, and the run goes on, whatever process died in between. Events follows a run from
// any point, live or long after.
//
// Every change of a run takes three steps: load the run, decide what it becomes, and store that as
// one store.Commit. Deciding is pure and in internal/decide, with the tables of package fsm; its
// commits hold the events too. Followers read the events from the store, or from its hints, which
// repeat what was stored (events.go). So nothing in this process has to agree with the store: its
// goroutines read it and act.
//
// Where to start reading:
//
//   - A reply: Client.Reply (reply.go), decide.Reply, Client.commit (commit.go).
//   - A claim: node.schedule and node.claim, then node.dispatch to a worker (scheduler.go).
//   - A turn: turn.run (worker.go) has turn.execute call the engine (turn.go), whose reports
//     the sink stores (sink.go), decide.Read read the outcome, and turn.settle store the decision
//     (decide.Turn).
//   - Recovery: recoverPeriodically and settleOrphans (recovery.go), decide.Orphan. Parked runs need
//     none: a store shows them as recovered (store.Run.ShowDeparture), and checkSessions
//     (sessions.go) looks for those whose engine refuses their session.
//   - A node: Serve (lifecycle.go), node.serve, its loops and its heartbeats (node.go).
//
// Lifecycle is for processes that execute runs; Client has the same calls without Serve, for front
// ends.
//
// A host imports this package, engine (or the package of another engine) and a store. The types of
// other packages that it needs are aliases here: Run, Question, Reply, State, Event and so on
// (aliases.go).
//
// Below it stand engine (who executes a turn), store (who keeps the truth), interaction (questions
// and replies), slots (who may execute) and fsm (what follows from what), generated from contract.
// No package of this module imports lifecycle, but for the front ends in host, which call its Client.
package lifecycle
