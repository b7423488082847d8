// Package enginetest proves an engine: one suite, driven with a scripted agent, that says of each case which promise of
// engine.Engine it checks.
//
// A host of the suite writes a Harness: a constructor of its engine, set up to run the suite's agent. The agent does what its input
// tells it (see Script): it says, asks, hangs, crashes, floods, forgets. It exists twice: Agent is an engine.Func, in the same process, and
// Main a program that prints JSON lines, for engines that start processes or speak to them. Which cases apply follows from the engine's
// profile, from the optional interfaces that it has, and from whether the agent is a program; no case can be switched off.
//
// Recorder is a Sink for tests, of engines and of whatever else needs one.
//
// Neighbours: engine is the interface; engine/exec is proven with this suite, with its own test binary as the agent.
package enginetest
