// Package sqlite keeps runs in one SQLite file, durably and without a server: the store for one
// machine.
//
// One writer goroutine owns the only writing connection. Commits and claims that arrive while a
// transaction is being flushed go together in the next one (natural group commit): an idle store
// adds no delay, a busy one shares each fsync among many. Each entry succeeds or fails by itself;
// no savepoint is needed, because everything that can refuse it is checked before its first
// write. Reads have connections of their own and never wait for the writer; listings have others,
// so that one that has to walk far holds up other listings only.
//
// Everybody waits for the writer, so it does little: callers check and encode their commits
// themselves; a commit is one guarded UPDATE of the run's row, which has the run's newest events
// too (events.go); the record that it replaces is cached as long as nobody else writes to the file
// (cache.go). docs/internals/performance.md has the figures.
//
// Durability: WAL with synchronous=FULL, so that an acknowledged commit survives the loss of power.
// Options.Synchronous can opt down.
//
// Two processes on one file are safe; the file's lock orders them. A commit of the other process is
// noticed by PRAGMA data_version while somebody watches, and a short table of changes, which is
// written for as long as another process watches, says which runs it changed (watch.go). The file
// must be on a local disk, and its folder writable: FILE-wal and FILE-shm stand beside it. Copy it
// with Backup while hosts work, and put a copy in place with Restore. A file that is removed or
// replaced under an open store is noticed before anything more is acknowledged (present.go), and a
// WAL of another file before it is replayed (wal.go).
//
// A host may have tables of its own in the file, and transactions that both write in (Transactions,
// transaction.go).
//
// The file is private to its user (0600) unless Options.FileMode says otherwise.
//
// A file that is not a database, belongs to another program, was written by a newer version, has
// another schema than its version says, or is damaged is refused and left as it is. When the disk
// is full or read-only, commits fail with an error that says so, what was stored stays readable,
// and commits work again when there is room.
//
// Neighbours: store is the interface that it implements, storetest the suite that proves it, slots
// the policy of its claims.
package sqlite
