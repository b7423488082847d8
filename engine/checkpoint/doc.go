// Package checkpoint keeps what an engine in the host's process needs to resume a run: versions
// that never change, one for each turn that ended with something to go on from.
//
// A turn reads the version that its handle names and writes a new one, atomically, under a key that
// was never used before; the handle of its outcome names it. So a crash in the middle of a turn
// leaves no part of a version, a repeated turn starts from the same version as the first try,
// and an attempt that has lost its run without knowing it does no damage: no handle of the run
// names what it writes.
//
// Sessions does this for an engine, and Resumable has the engine's methods that need nothing else.
// Store is where versions are stored, and Files a Store of plain files.
//
// Neighbours: engine/eino and engine/adk keep their checkpoints and sessions with it. It knows
// nothing of what is in a version.
package checkpoint
