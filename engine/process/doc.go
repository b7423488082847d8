// Package process starts the processes of runs and keeps them under control: nothing of a run is
// left when its turn, or its host, has ended.
//
// A Process is a process group of its own. End sends it TERM and, after a grace period, KILL. When
// the process has ended, for whatever reason, the processes that it left behind are ended too.
//
// On Linux, two more things hold. The kernel kills the process when the thread that started it
// dies; that thread lives as long as the process. And the process has a token in its environment,
// which all its descendants inherit, so that descendants that left the group are found as well.
//
// A Table keeps a record of each process on disk. After a host has died, Reap (for one run) and
// CleanUp (for all runs) use these records to find and end the processes that it left. They
// identify a process by its token, or by its number together with its start time and the boot of
// the machine, and never by its number alone. On other systems than Linux, the processes of a dead
// host cannot be found.
//
// Two kinds of processes escape: one that left the group and hides its environment or was started
// with another one, and one that keeps starting its successor and ending before it is seen. Where
// the system allows it, Contain finds these too. Otherwise the host has to give the agent a control
// group or a machine of its own (Command.Sandbox). The same is true of a limit on memory that must
// not be exceeded even for a moment, as Command.MaxMemory can be.
//
// Engines whose agents are child processes share more than the process: Residents keeps processes
// between turns and reports their loss, Environment builds what an agent sees, LineReader bounds
// what it writes, TurnTimer bounds its time, Diagnostics collects what is odd about its output.
//
// The package is for authors of engines that run other programs. Hosts configure it through those
// engines, and do not call it.
//
// Neighbours: engine/exec and engine/acp run agents with it; engine/redact takes secrets out of
// their output; internal/procid tells processes apart.
package process
