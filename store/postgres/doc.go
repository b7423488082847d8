// Package postgres keeps runs in PostgreSQL, for any number of hosts that share one database: same
// calls, same semantics, same suite as on one machine.
//
// The server does the distribution: a commit is an UPDATE that names the row, the version and the
// worker that it is made on; a claim locks the pools that it takes slots of, so that capacity holds
// across all nodes, and picks runs with SKIP LOCKED from partial indexes, in which nothing parked
// or finished stands. Leases are judged by the server's clock, which is also that of the hosts
// (store.Timekeeper). There is nothing else to operate: no leader, no second truth, no job that
// cleans up.
//
// Commits that arrive while a transaction is under way share the next one, as one statement; reads
// of single runs share statements too. A process caches what it wrote or read last, and does not
// rely on it: each write names the row and the version that it is made on. Notifications shorten
// waiting, and nothing depends on them. No session is changed, so that a pooler may stand between.
//
// Store.In gives the calls inside a transaction of the host's own: a run is submitted, answered or
// canceled together with the host's rows, or not.
//
// docs/postgres.md is for those who operate it: rights, poolers, sizes, what happens when something
// dies, upgrades.
//
// Neighbours: store is the interface that it implements, storetest the suite that proves it, slots
// the policy of its claims; pglocal starts a server of one's own, pgtest gives tests a place on
// one.
package postgres
