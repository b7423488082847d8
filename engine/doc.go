// Package engine defines the interface that executes the turns of an agent: the input of a turn,
// and the evidence that it returns.
//
// RunTurn executes one attempt up to the turn's end and returns an Outcome: how the process ended,
// the assistant's text, structured output, questions, the session handle. The completion gate
// decides about the run. Reports during the turn go through the Sink and are stored immediately.
//
// Optional abilities are separate interfaces, found by type assertion: Checker, Brancher, Resident,
// Reaper, ProcessCleaner, Scoped.
//
// Func is an engine in the host's process, and flow executes straight-line code that replays the
// run's journal (Journal); agents has named command lines, exec any other; acp, eino and adk are
// separate modules. enginetest tests any engine.
//
// Neighbours: lifecycle calls engines. interaction defines questions and answers, fsm profiles and
// codes; aliases.go has aliases for engines.
package engine
