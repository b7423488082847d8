// Package slots decides who may execute: pools of execution slots, fair sharing between keys, and
// priorities.
//
// It is a pure policy that stores apply when they claim. Each run's record is the only source of
// truth: it holds a slot or not, so a slot can neither leak nor be counted twice. Select chooses
// the queued runs to start next. It calls the queue only a few times per priority, so the queue may
// be across a network, and its cost depends on the number of selected runs, not of waiting ones.
//
// Order: higher priority first; within a priority the keys take turns, starting after the key
// served last; within a key the oldest first. Capacity limits the held slots of a pool, KeyCapacity
// those per key; runs without a key share the pool as one more key, without a key limit.
//
// Neighbours: store keeps runs and pools, lifecycle configures them.
package slots
