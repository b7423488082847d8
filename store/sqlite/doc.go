// Package sqlite keeps runs in one SQLite file, durably and without a server: the store for one
// machine.
//
// One writer goroutine owns the only writing connection. Commits and claims that arrive during a
// flush share the next transaction (natural group commit): an idle store adds no delay, a busy one
// shares each fsync. Each entry succeeds or fails independently, without savepoints, because all
// its checks precede its first write. Reads use separate connections and never wait for the writer;
// listings use others, so that a long listing delays only listings.
//
// All callers wait for the writer, so it does little: callers check and encode their commits; a
// commit is one guarded UPDATE of the run's row, which includes the run's newest events
// (events.go); the previous record is cached as long as no other process writes to the file
// (cache.go). docs/internals/performance.md has the figures.
//
// Durability: WAL with synchronous=FULL, so that an acknowledged commit survives a power failure.
// Options.Synchronous can reduce it.
//
// Two processes can use one file; the file's lock orders them. PRAGMA data_version reveals commits
// of the other process while there are watchers, and a short table of changes, written while
// another process watches, identifies the changed runs (watch.go). The file must be on a local
// disk, and its folder writable, for FILE-wal and FILE-shm. Copy it with Backup while hosts use it,
// and install a copy with Restore. A file that is removed or replaced under an open store is
// detected before the next acknowledgement (present.go), and a WAL of another file before it is
// replayed (wal.go).
//
// A host may have its own tables in the file, and transactions that write to both (Transactions,
// transaction.go).
//
// The file is private to its user (0600) unless Options.FileMode says otherwise.
//
// A file that is not a database, belongs to another program, comes from a newer version, has a
// schema that contradicts its version, or is damaged is refused and not changed. While the disk is
// full or read-only, commits fail with an error that says so, stored data stays readable, and
// commits work again once there is room.
//
// Neighbours: store is the interface that it implements, storetest the suite that verifies it,
// slots the policy of its claims.
package sqlite
