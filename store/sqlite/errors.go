package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/interlude-go/interlude/store"
)

// Reasons for which Open refuses a file without changing it.
var (
	// ErrNotDatabase: the file is not a SQLite database.
	ErrNotDatabase = errors.New("sqlite: not a SQLite database")
	// ErrForeign: the database belongs to another program.
	ErrForeign = errors.New("sqlite: database of another program")
	// ErrOlder: the database has an older schema, and Options.NoMigrate forbids a migration. Make a
	// backup, and open it once without that.
	ErrOlder = errors.New("sqlite: database has an older schema")
	// ErrNewer: a newer version of this package wrote the database; use that version.
	ErrNewer = errors.New("sqlite: database has a newer schema")
	// ErrInUse: the database has an older schema, and a node that works with it is alive, or may be
	// until its lease ends. The migration would make its commits fail. Stop its process first.
	ErrInUse = errors.New("sqlite: database is in use by a process of an older version")
	// ErrSchema: the database's schema contradicts its version: a development version from before
	// the first release made it, or its tables were changed by hand. Open it with the version that
	// made it, or start with a new file.
	ErrSchema = errors.New("sqlite: database has an unknown schema")
	// ErrForeignWAL: the file's WAL (FILE-wal) belongs to another file or another copy. SQLite
	// would mix the pages of both.
	ErrForeignWAL = errors.New("sqlite: WAL of another database")
	// ErrCorrupt: the database is damaged, or the disk could not read it (EIO), which SQLite
	// reports alike. Check the system's log; restore a backup.
	ErrCorrupt = store.ErrCorrupt
)

// Errors that prevent a commit. Stored data stays valid and readable.
var (
	// ErrFull: the disk is full.
	ErrFull = store.NewError(store.ErrFull, "sqlite: disk is full")
	// ErrReadOnly: the file or its folder is not writable.
	ErrReadOnly = store.NewError(store.ErrUnavailable, "sqlite: database is read-only")
	// ErrReplaced: the file or a companion file was removed, moved or replaced while open, or its
	// WAL was overwritten. Unacknowledged calls may be stored in the removed file. Every later call
	// fails: close the store, put the right file in place, and open it again.
	ErrReplaced = errors.New("sqlite: database file was removed or replaced")
	// ErrBusy: another process locked the file for longer than Options.BusyTimeout; retry.
	ErrBusy = store.NewError(store.ErrUnavailable, "sqlite: database is locked by another process")
)

func explain(err error) error {
	var e *sqlite.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w", ErrNotDatabase, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: %w", ErrFull, err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM: // for SQLITE_CANTOPEN see unwritable
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}
