// Package acp is an engine for agents that speak the Agent Client Protocol on their standard input
// and output: JSON-RPC, a message a line.
//
// An agent that announces session/resume or session/load is resumable: a process for each turn,
// which goes on with the session that the handle names; what it replays of its history is no
// message of the turn. Any other is a resident process, kept through all turns of its run, as is
// an agent that does not know the method that it announces, or that is known to lose sessions
// (Gemini CLI 0.61, Qwen Code before 0.24). Profile asks the installed program once and says what
// it found.
//
// A permission that the agent requests inside a turn is a question: the turn ends, the run parks,
// and no process needs to wait. Requests that come within Config.Gather are asked about together;
// the protocol does not say how many will come, so later ones are asked about in a further turn.
// What a person decides is applied when the agent proposes the same again, which is known by a
// digest of what it wants to do: once, unless the option that was chosen is for always. Anything
// else is asked anew. An automatic decision never permits anything. For a resident process the
// request can be held open instead, for a bounded time; held requests are asked about one after the
// other.
//
// The agent is given no files and no terminals of the client's: it works with its own tools, in the
// run's folder.
//
// Neighbours: engine is the interface; engine/process starts and ends the processes; engine/exec
// runs agents that are plain command lines.
package acp
