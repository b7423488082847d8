// Package engine says who executes the turns of an agent: the interface, what a turn is given, and
// the evidence that it leaves.
//
// An engine executes; it never decides. RunTurn executes one attempt up to the turn's end and
// returns an Outcome: how the process ended, what the assistant said, structured output, questions,
// the session handle. The completion gate makes of it what the contract says. What the agent tells
// before the turn ends goes through the Sink and is stored at once.
//
// What not every engine can do is an interface of its own, found by type assertion: Checker,
// Brancher, Resident, Reaper, ProcessCleaner, Scoped.
//
// Func is an engine in the host's process, and flow one of straight-line code that goes on where it
// was, from the run's journal (Journal); agents has the command lines that people use by name,
// exec any other; acp, eino and adk are modules of their own. enginetest proves any of them.
//
// Neighbours: lifecycle calls engines. Questions and answers are defined in interaction, profiles
// and codes in fsm; aliases.go has aliases of those that an engine needs. An engine
// knows no store.
package engine
