// Package decide makes the decisions about runs. A decision is a pure function: it takes the stored
// run, the facts and the time, changes none of its arguments, and returns the commit to store. So it
// can be repeated after a lost compare-and-set, and tested without a process.
//
// Where to start reading, by event:
//
//	submitted    Submission (run.go)
//	claimed      Start (run.go)
//	reports      Report, Entries, CountChild: during a turn (run.go, reported.go)
//	turn ended   Read converts the engine's outcome to Evidence (evidence.go, asked.go); Turn uses
//	             it (turn.go), often with the contract's completion gate (gate.go); RefusedOutcome
//	             if the contract or the store refuses the outcome
//	answered     Reply (reply.go); Ruling for the host's policy (ruling.go)
//	changed      Claim, Release, Reassign, Extend: an open question (question.go)
//	due          Deadline: a question's wait or step, a hold (deadline.go)
//	interrupted  DroppedTurn, Orphan, LostProcess (lost.go, run.go)
//	held         Resume by an operator (hold.go); a used-up budget (budget.go)
//	forked       Fork, AskAgain (fork.go, origin.go)
//	children     Continue, FamilyDue, RetainForParent (run.go)
//	canceled     Cancel (run.go)
//
// Each decision chooses an event of the contract and describes its effects (effects.go). transition
// (transition.go) looks up the contract's row, changes the record (record.go), and adds the row's
// events (events.go).
//
// After an error nothing may be stored. The error is a *fsm.Refusal, a *fcmp.SchemaViolation, an
// error of package interaction for a person, or a *BadArgument.
package decide
