// Package enginetest proves an engine: one suite, driven with a scripted agent, that says of each
// case which promise of engine.Engine it checks.
//
// A host of the suite writes a Harness: a constructor of its engine, set up to run the suite's
// agent. The agent does what its input tells it (see script.Step): it says, asks, hangs, crashes,
// floods, forgets. It exists several times: Agent is a function, in the same process, and Plain one
// whose texts are not read; PerformSteps makes one of a function that goes on from its journal;
// Main is a program that prints JSON lines, for engines that start processes or speak to them; and
// any real agent will do whose model is the suite's, Harness.Model. Which cases apply follows from
// the engine's profile, from the optional interfaces that it has, and from which kind of agent it
// is; no case can be switched off.
//
// Recorder is a Sink for tests, of engines and of whatever else needs one.
//
// Neighbours: engine is the interface; engine/exec is proven with this suite, with its own test
// binary as the agent, and engine/flow with a function that asks; modeltest is the model that real
// agents ask; script is the language of both.
package enginetest
