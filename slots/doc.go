// Package slots says who may execute: pools of execution slots, keys that share a pool fairly, and
// priorities.
//
// It is pure policy that stores apply in their claim. The truth stands in the runs themselves: a
// run holds a slot or it does not, in its own record, so that a slot can neither leak nor be
// counted twice (section D). Select decides which queued runs start next, looking at the queue
// through a few calls a priority, so that its cost follows what it picks and never what waits, and
// so that the queue may be a network away.
//
// Order: priority first, higher before lower; within a priority the keys take turns, beginning
// after the one served last; within a key the oldest first. A pool's Capacity bounds all that hold
// a slot, KeyCapacity those of one key; runs without a key share the pool as one more key without a
// bound of its own.
//
// Neighbours: store keeps runs and pools, lifecycle configures them.
package slots
