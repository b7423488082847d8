// Package exec is an engine for agents that are command lines: a child process for each turn, resumed by the session id that it
// names, or one resident process that is answered on its standard input.
//
// A Config is data: templates of the arguments, what of the environment passes, and rules that say what a line of the agent's output
// means. There is no shell; a value that is put into an argument stays in it, whatever it holds. The rules find the session id (stored
// at once, before the turn ends), messages, the final text, structured output, failures.
//
// Nothing that the agent does can hurt its host: lines, output and transcript are bounded, broken UTF-8 and JSON become diagnostics,
// wall-clock and idle time are limited. A turn's processes are a process group of their own, ended by TERM, a grace, and KILL, with
// whatever they left behind. On Linux they also die with the thread that started them, which lives as long as they do, and carry a token in their
// environment by which Reap finds and ends what a dead host left: never on a bare process number.
//
// Neighbours: engine is the interface that it implements; engine/process starts and ends the processes.
package exec
