// Package postgres keeps runs in PostgreSQL, for any number of hosts that share one database.
//
// The server handles the distribution: a commit is an UPDATE that names its row, version and
// worker; a claim locks its pools, so that capacity holds across all nodes, and picks runs with
// SKIP LOCKED from partial indexes without parked or finished runs. The server's clock judges
// leases, and hosts use it too (store.Timekeeper). There is no leader and no cleanup job.
//
// Commits that arrive during a transaction share the next one, as one statement; reads of single
// runs share statements too. Cached runs are only hints: each write names its row and version.
// Notifications shorten waits, but nothing depends on them. Session state is never changed, so that
// a pooler can be used.
//
// With Store.In, submissions, answers and cancels commit together with the host's rows, or not at
// all.
//
// docs/postgres.md is for operators.
//
// Neighbours: store is the interface that it implements, storetest the suite that verifies it,
// slots the policy of its claims; pglocal starts a private server, pgtest gives tests a database on
// it.
package postgres
