// Package store defines how runs are stored: the record of a run, the commit that changes it, and
// the interface that memory, SQLite and PostgreSQL implement.
//
// Everything that a transition changes is one Commit, stored atomically by compare-and-set on the
// run's version. Slots, deadlines, questions and events have no other source of truth. A worker's
// commits carry a fence: once another worker has taken over the run, they are refused. The store
// selects the runs to claim (with the policy of slots); the caller decides the commit of a claim,
// inside the store's transaction.
//
// record.go defines the data, store.go the store's duties, check.go the commits it must reject.
// storetest verifies an implementation. memory is for tests, sqlite for one machine, postgres for
// many (separate modules).
//
// Neighbours: lifecycle decides and commits; interaction, slots and fsm define the types.
package store
