// Package store says how runs are kept: the record of a run, the one commit that changes it, and the interface that
// memory, SQLite and PostgreSQL implement.
package store
