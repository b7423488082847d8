// Package store says how runs are kept: the record of a run, the one commit that changes it, and
// the interface that memory, SQLite and PostgreSQL implement.
//
// The idea is a single one: everything that a transition changes is one Commit, and a Commit is
// stored whole or not at all, by compare-and-set on the run's version. Slots, deadlines, questions
// and events have no other truth. A worker's commits carry a fence, so that one that was taken over
// can change nothing any more. The store picks what is claimed (with the policy of slots); what a
// claim makes of a run is decided by its caller, inside the store's transaction.
//
// record.go is what is kept, store.go what a store must do, check.go what it must refuse. storetest
// proves an implementation; memory is one that is fit for production tests, sqlite one for a
// machine, postgres one for many (modules of their own).
//
// Neighbours: lifecycle decides and commits; interaction, slots and fsm give the types. A store
// knows no engine.
package store
