// Package flow proves that straight-line agents (engine/flow) survive kill -9 of their hosts, on
// SQLite and PostgreSQL: no step whose result was stored is executed again, no answer is lost, and
// each run ends. The effects of the steps are lines of a ledger, a file outside of the store.
//
// Hosts are killed at random times, and right before and right after each commit of an order, where
// each line of the ledger is known; and three hosts are killed in turn while they execute a tree of
// runs. docs/internals/proof.md has the long forms.
package flow
