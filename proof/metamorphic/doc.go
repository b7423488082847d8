// Package metamorphic has one log of operations done on every store, and compares all that is
// answered.
//
// Each log is drawn by rapid: submissions with every field of a spec, claims, turns with each kind
// of evidence, reports, replies with keys, cancels, deadlines, crashes, shutdowns, recoveries,
// prunes, and every question that a host can ask, with filters and cursors. It is done step by step
// in a bubble of testing/synctest with its own time, through lifecycle.Client and Lifecycle, once
// on each store. What a node does by itself happens at the step that says so (gate), so that
// nothing depends on which goroutine comes first.
//
// All answers must be equal: records field by field, events byte by byte, cursors, counts, and
// errors by their class. What may differ is little, and is levelled before comparing:
//
//   - the ids of nodes, which are random: they are named in the order in which they come;
//   - the texts of errors, in which stores say what they know: errors.Is and the fields of typed
//     errors count.
package metamorphic
