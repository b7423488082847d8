// Package slots says who may execute: pools of execution slots, keys that share a pool fairly, and
// priorities.
//
// It is pure policy that stores apply in their claim. The truth stands in the runs themselves: a
// run holds a slot or it does not, in its own record, so that a slot can neither leak nor be
// counted twice (section D). Select decides which queued runs start next. It makes only a few calls
// of the queue for each priority, so that the queue may be a network away, and its cost depends on
// how many runs it picks and not on how many wait.
//
// Order: priority first, higher before lower; within a priority the keys take turns, beginning
// after the one served last; within a key the oldest first. A pool's Capacity bounds all that hold
// a slot, KeyCapacity those of one key; runs without a key share the pool as one more key without a
// bound of its own.
//
// Neighbours: store keeps runs and pools, lifecycle configures them.
package slots
