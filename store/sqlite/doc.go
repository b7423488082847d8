// Package sqlite keeps runs in one SQLite file, durably and without a server: the store for one
// machine.
//
// One writer goroutine owns the only writing connection. Commits and claims that arrive during a
// flush share the next transaction: an idle store adds no delay, a busy one shares each fsync. Each
// entry succeeds or fails independently, without savepoints, because its checks precede its first
// write. Reads never wait for the writer, and long listings delay only listings.
//
// Callers check and encode their commits, since all wait for the writer. A commit is one guarded
// UPDATE of the run's row, with the run's newest events (events.go). The previous record is cached
// while no other process writes (cache.go).
//
// Durability: WAL with synchronous=FULL, so that an acknowledged commit survives a power failure
// (Options.Synchronous).
//
// Two processes can use one file; the file's lock orders them. For watchers, PRAGMA data_version
// reveals the other's commits, and a short table identifies the changed runs (watch.go). The file
// must be on a local disk, and its folder writable, for FILE-wal and FILE-shm. Copy it with Backup,
// and install a copy with Restore. A removed or replaced file is detected before the next
// acknowledgement (present.go), and a WAL of another file before it is replayed (wal.go).
//
// A host may have its own tables in the file, and transactions that write to both (Transactions).
//
// The file is private to its user (0600) unless Options.FileMode says otherwise.
//
// A foreign, newer, inconsistent or damaged file is refused and not changed. While the disk is full
// or read-only, commits fail with that error, and stored data stays readable.
//
// Neighbours: store is the interface that it implements, storetest the suite that verifies it,
// slots the policy of its claims.
package sqlite
