// Package checkpoint keeps what an engine in the host's process needs to resume a run: versions
// that never change, one for each turn that ended with something to go on from.
//
// A turn reads the version that its handle names and writes a new one, whole, under a key that
// nobody has used before; the handle of its outcome names it. So a crash in the middle of a turn
// leaves nothing half written, a turn that is repeated (E4) starts from what its predecessor
// started from, and an attempt that has lost its run, but does not know it yet, can spoil nothing:
// no handle of the run ever names what it writes.
//
// Sessions does this for an engine; Store is where versions are kept, and Files a Store of plain
// files.
//
// Neighbours: engine/eino and engine/adk keep their checkpoints and sessions with it. It knows
// nothing of what is in a version.
package checkpoint
