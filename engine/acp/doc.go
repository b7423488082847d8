// Package acp is an engine for agents that speak the Agent Client Protocol on standard input and
// output: JSON-RPC, one message per line.
//
// An agent that announces session/resume or session/load is resumable: a process per turn continues
// the session in the handle; replayed history is not a message. Any other agent is a resident
// process for all turns of its run, as is an agent that lacks the announced method or is known to
// lose sessions (Gemini CLI 0.61, Qwen Code before 0.24). Profile probes the installed program
// once.
//
// A permission request becomes a question: the turn ends, the run parks, and no process waits.
// Requests within Config.Gather are asked together, later ones in another turn. A decision is
// applied when the agent proposes the same call again, recognized by a digest: once, unless the
// chosen option applies always. Any other call is asked again. An automatic decision never permits
// anything. A resident process can keep the request open for a limited time instead; waiting
// requests are asked one after the other.
//
// The agent gets no client files and terminals: it uses its own tools in the run's folder.
//
// Neighbours: engine is the interface; engine/process starts and ends processes; engine/exec runs
// plain command lines.
package acp
