// Package enginetest proves an engine: one suite, driven with a scripted agent; each case names the
// promise of engine.Engine that it checks.
//
// A test writes a Harness, which constructs its engine with the suite's agent. The agent executes
// the steps in its input (see script.Step): say, ask, hang, crash, flood. It has several forms: the
// functions Agent and Plain (whose texts are not read), PerformSteps for a function that replays a
// journal, the program Main, which prints JSON lines, and any real agent whose model is
// Harness.Model. The engine's profile, its optional interfaces and the kind of agent select the
// cases; none can be switched off.
//
// Recorder is a Sink for tests.
//
// Neighbours: engine has the interface; engine/exec is proven with its own test binary as the
// agent, engine/flow with a function that asks; modeltest is the model for real agents; script is
// the language of both.
package enginetest
