// Package checkpoint stores the state from which an engine in the host's process resumes a run:
// immutable versions, one for each turn with a state.
//
// A turn reads the version named by its handle and writes a new one atomically, under a new key;
// the handle of its outcome names it. So a crash leaves no partial version, a repeated turn starts
// from the same version, and an attempt that has lost its run does no damage: no handle of the run
// names its version.
//
// Sessions does this for an engine, and Resumable has the engine methods that need nothing else.
// Store stores versions, and Files is a Store of plain files.
//
// Neighbours: engine/eino and engine/adk store their checkpoints and sessions with it. It does not
// interpret versions.
package checkpoint
