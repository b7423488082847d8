// Package metamorphic executes one log of operations on every store, and compares all answers.
//
// Rapid draws each log: submissions with every field of a spec, claims, turns with each kind of
// evidence, reports, replies with keys, cancels, deadlines, crashes, shutdowns, recoveries, prunes,
// and every call by which a host can read, with filters and cursors. A log is executed step by step
// in a bubble of testing/synctest with its own time, through lifecycle.Client and Lifecycle, once
// on each store. A node acts by itself only in the steps that allow it (gate), so that nothing
// depends on which goroutine comes first.
//
// All answers must be equal: records field by field, events byte by byte, cursors, counts, and
// errors by their class. Only two things may differ, and are normalized before the comparison:
//
//   - the ids of nodes, which are random: nodes are named in the order in which they appear;
//   - the texts of errors, which depend on the store: only errors.Is and the fields of typed errors
//     are compared.
package metamorphic
