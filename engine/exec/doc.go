// Package exec is an engine for agents that are command lines: a child process for each turn,
// resumed by the session id that it names, or one resident process that is answered on its standard
// input.
//
// A Config is data: templates of the arguments, what of the environment passes, and rules that say
// what a line of the agent's output means. There is no shell; a value that is put into an argument
// stays in it, whatever it holds. The rules find the session id (stored at once, before the turn
// ends), messages, the final text, structured output, failures.
//
// Nothing that the agent does can hurt its host: lines, output, transcript and memory are bounded,
// broken UTF-8 and JSON become diagnostics, wall-clock and idle time are limited. It sees of the
// host's environment what is named; the values of what is marked secret stand in no transcript,
// event or error. A turn's processes are a process group of their own, ended by TERM, a grace, and
// KILL; whatever they left behind is ended with the turn, and on Linux, when the host dies, by the
// next one that calls Reap: never on a bare process number.
//
// A turn leaves what the agent wrote in attempt-N.out and attempt-N.err, which its messages point
// into. All rounds of an attempt are in the same two files.
//
// Neighbours: engine is the interface that it implements; engine/process starts and ends the
// processes; engine/redact takes secrets out.
package exec
