// Package process starts the processes of runs and keeps them under control: nothing of a run is
// left when its turn, or its host, has ended.
//
// A Process is a process group of its own. It is ended by TERM, a grace, and KILL; when it has
// ended, in whichever way, so is what it left behind. On Linux it also dies with the thread that
// started it, which lives as long as it does, and carries a token in its environment that
// everything it starts inherits: by it also those are found that left the group. A Table keeps a
// record of each process on disk, by which Reap, for a run, and CleanUp, for all, find and end what
// a dead host left: by the token and by identity (number, start time, boot), never by a bare
// process number. On other systems a dead host's processes cannot be found.
//
// What this does not find is a process that left the group and hides its environment or was started
// with another one, and one that starts another and ends, over and over, faster than it can be
// looked at. Contain finds these too, where the system allows it; otherwise it takes a control
// group or a machine of its own, which are the host's to give (Command.Sandbox); so is a bound on
// memory that cannot be passed for a moment, as Command.MaxMemory can.
//
// Engines whose agents are child processes share more than the process: Residents keeps processes
// between turns and reports their loss, Environment builds what an agent sees, LineReader bounds
// what it writes, TurnTimer bounds its time, Diagnostics collects what is odd about its output.
//
// Neighbours: engine/exec and engine/acp run agents with it; engine/redact takes secrets out of
// their output; internal/procid tells processes apart.
package process
