// Package flow kills hosts of straight-line agents (engine/flow) with kill -9, on SQLite and PostgreSQL,
// while they execute steps: no step that was kept is executed again, no answer is lost, and each run
// comes to its end. What the steps did is in a file outside of the store.
//
// And it kills them right before and right after each commit of an order, so that the ledger is known line
// by line; and while they execute trees of runs. docs/proof.md has the long forms.
package flow
