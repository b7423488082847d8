// Package process starts the processes of runs and keeps them under control: nothing of a run is left when its turn, or its host, has
// ended.
//
// A Process is a process group of its own. It is ended by TERM, a grace, and KILL, with whatever it left behind. On Linux it also dies with the
// thread that started it, which lives as long as it does, and carries a token in its environment that everything it starts inherits. A
// Table keeps a record of each process on disk, by which Reap finds and ends what a dead host left: by the token and by identity (number,
// start time, boot), never by a bare process number.
//
// Neighbours: engine/exec and engine/acp run agents with it; internal/procid tells processes apart.
package process
