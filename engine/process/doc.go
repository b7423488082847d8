// Package process starts the processes of runs and keeps them under control: no process outlives
// its turn or, on Linux, its host.
//
// A Process is a process group. End sends it TERM and, after a grace period, KILL. When the process
// has ended for any reason, the processes that it left behind are ended too.
//
// Linux adds two guarantees. The kernel kills the process when the thread that started it dies;
// that thread lives as long as the process. And the process has a token in its environment, which
// all descendants inherit, so descendants that left the group are found as well.
//
// A Table stores a record of each process on disk. After a host has died, Reap (for one run) and
// CleanUp (for all runs) use the records to find and end its processes. They identify a process by
// its token, or by its number with its start time and the machine's boot, never by its number only.
// Other systems than Linux cannot find the processes of a dead host.
//
// Two kinds of processes escape: a process that left the group and hides its environment or was
// started with a different one, and a process that keeps starting a successor and exiting before it
// is seen. If the system permits it, Contain finds these too. Otherwise give the agent a control
// group or a separate machine (Command.Sandbox), also if its memory must never exceed a limit even
// briefly, which Command.MaxMemory cannot ensure.
//
// The package is for authors of engines that run other programs. Hosts configure it through these
// engines, and do not call it.
//
// Related packages: engine/exec and engine/acp run agents with it; engine/redact removes secrets
// from their output; internal/procid identifies processes.
package process
