package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// applicationID marks a file as this package's: "ILud".
const applicationID = 0x494c7564

type Status struct {
	// Version is the last applied migration; 0 without any.
	Version int
	// Newest is this package's version.
	Newest int
}

// Inspect returns a file's schema version, and checks the file: a database of this package, neither
// too old nor too new, with every table, column and index, and undamaged pages. The error matches
// the fault: fs.ErrNotExist, ErrOlder, or an error of Open. It changes nothing, and reads the whole
// file while hosts use it.
func Inspect(ctx context.Context, path string) (Status, error) {
	have := Status{Newest: len(migrations)}
	path, err := filepath.Abs(path)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		have.Version, err = inspectFile(path)
	}
	if err == nil {
		err = checkVersion(have.Version)
	}
	if err == nil {
		err = checkPages(ctx, path, "ro")
	}
	if err != nil {
		return have, fmt.Errorf("sqlite: inspect %s: %w", path, explain(err))
	}
	return have, nil
}

func checkVersion(version int) error {
	if version < len(migrations) {
		return fmt.Errorf("%w: schema version is %d, this package needs %d: make a backup, then migrate it",
			ErrOlder, version, len(migrations))
	}
	return nil
}

// inspect refuses a foreign file before anything is written to it. It creates a missing file,
// unless nothing may be migrated.
func inspect(path string, o Options) error {
	version, err := inspectFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !o.NoMigrate:
		return create(path, o.FileMode)
	case err == nil && o.NoMigrate:
		return checkVersion(version)
	}
	return err
}

// inspectFile returns the version of a file's schema; 0 if empty.
func inspectFile(path string) (version int, _ error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return 0, err
	case info.IsDir():
		return 0, fmt.Errorf("%w: it is a folder: name a file in it", ErrNotDatabase)
	case !info.Mode().IsRegular(): // opening a named pipe would block
		return 0, fmt.Errorf("%w: it is not a regular file (%s)", ErrNotDatabase, info.Mode().Type())
	case info.Size() == 0:
		return 0, nil
	}
	h, err := readHandle(path)
	if err != nil {
		return 0, err
	}
	defer h.Close() //nolint:errcheck // nothing was written
	if err := inspectHeader(path, h.File); err != nil {
		return 0, err
	}
	version, err = inspectSchema(path)
	return version, unwritable(path, err)
}

func inspectHeader(path string, f *os.File) error {
	head := make([]byte, 100)
	if _, err := f.ReadAt(head, 0); err != nil || !bytes.HasPrefix(head, []byte("SQLite format 3\x00")) {
		return ErrNotDatabase
	}
	field := func(at int) uint32 { return binary.BigEndian.Uint32(head[at:]) }
	pageSize := int64(binary.BigEndian.Uint16(head[16:]))
	if pageSize == 1 {
		pageSize = 65536
	}
	// The size is read last: another process may add pages before it deletes its WAL.
	_, walErr := os.Stat(path + "-wal")
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if pages := int64(field(28)); errors.Is(walErr, os.ErrNotExist) && field(24) == field(92) &&
		pages*pageSize > info.Size() {
		return fmt.Errorf("%w: the file has %d bytes, its header says %d", ErrCorrupt, info.Size(), pages*pageSize)
	}
	if id := field(68); id != 0 && id != applicationID {
		return fmt.Errorf("%w: application_id is %#x", ErrForeign, id)
	}
	return checkWAL(path, f)
}

// create makes an empty file with its mode set from the start. SQLite gives its companion files the
// same mode.
func create(path string, mode fs.FileMode) error {
	folder := filepath.Dir(path)
	if info, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s does not exist: make it, or correct the path: %w", folder, err)
	} else if err == nil && !info.IsDir() {
		return fmt.Errorf("%s is a file and no folder: correct the path: %w", folder, fs.ErrInvalid)
	}
	h, err := writeHandle(path, os.O_RDWR|os.O_CREATE, mode)
	if err != nil {
		return unmade(err)
	}
	return errors.Join(h.Chmod(mode), h.Close()) // the requested mode, whatever the process's umask
}

// unmade explains why a folder does not allow a new file: ErrReadOnly only if that is the cause.
func unmade(err error) error {
	cause := readOnly(err)
	if errors.Is(err, fs.ErrNotExist) { // a dangling link
		cause = fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
	return fmt.Errorf("no file can be made in the folder: %w", cause)
}

func readOnly(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
	return err
}

// unwritable adds to an error of SQLite which file it could not open or write, and why. It tries to
// open the file and FILE-wal for writing, and to make a file in the folder, but not FILE-shm:
// closing that would end another store's locks on it in this process.
func unwritable(path string, err error) error {
	var e *sqlite.Error
	unopened := errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_CANTOPEN
	if !unopened && !errors.Is(err, ErrReadOnly) {
		return err
	}
	for _, name := range []string{path, path + "-wal"} {
		h, opening := writeHandle(name, os.O_RDWR, 0)
		switch {
		case opening == nil:
			_ = h.Close() // nothing was written
		case name == path || !errors.Is(opening, fs.ErrNotExist):
			return fmt.Errorf("%w: %w", err, readOnly(opening))
		}
	}
	probe, making := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".probe-*")
	if making != nil {
		return fmt.Errorf("%w: the file may be written; its folder must be, too, for %s-wal and %[2]s-shm: %w", err,
			filepath.Base(path), unmade(making))
	}
	_ = errors.Join(probe.Close(), os.Remove(probe.Name()))
	if unopened {
		return fmt.Errorf("%w: the file, its folder and what is beside it can be opened now, so the system failed for "+
			"a moment: look at its log, and at the number of open files", err)
	}
	return err
}

func newer(version int64) error {
	return fmt.Errorf("%w: schema version is %d, this package knows %d: use a version of the package that is at "+
		"least as new as the one "+
		"that wrote the file; there is no way back but a backup", ErrNewer, version, len(migrations))
}

// inspectSchema reads the version and the tables through a read-only connection, since they may
// still be in the WAL.
func inspectSchema(path string) (int, error) {
	version, err := inspectSchemaAs(path, "ro")
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code() == sqlite3.SQLITE_READONLY_ROLLBACK {
		// Power failed while the file was created, before it had a WAL: its journal reverts the
		// incomplete write, which needs a writing connection.
		version, err = inspectSchemaAs(path, "rw")
	}
	return version, err
}

func inspectSchemaAs(path, mode string) (made int, _ error) {
	c, err := dial(path, mode, []string{"busy_timeout(10000)"})
	if err != nil {
		return 0, explain(err)
	}
	defer c.close() //nolint:errcheck // nothing was written
	// All in one transaction: another process may be creating or migrating the file.
	if err := c.run("BEGIN"); err != nil {
		return 0, explain(err)
	}
	var id, version, tables int64
	for _, q := range []struct {
		text string
		into *int64
	}{
		{"PRAGMA application_id", &id}, {"PRAGMA user_version", &version}, {"SELECT count(*) FROM sqlite_schema",
			&tables},
	} {
		r, err := c.one(q.text)
		if err != nil {
			return 0, explain(err)
		}
		*q.into = r.int(0)
	}
	switch {
	case id == 0 && tables == 0: // made, but still empty
		return 0, nil
	case id != applicationID:
		return 0, fmt.Errorf("%w: application_id is %#x", ErrForeign, id)
	case version < 1:
		return 0, fmt.Errorf("%w: it has tables and schema version %d: %s", ErrSchema, version, otherSchema)
	}
	if _, made, err = readVersion(version); err != nil {
		return made, err
	}
	return made, explain(c.checkSchema(made))
}

// checkPages refuses a file with a damaged page.
func checkPages(ctx context.Context, path, mode string) error {
	c, err := dial(path, mode, []string{"busy_timeout(10000)"})
	if err != nil {
		return err
	}
	var found error
	err = c.each(ctx, func(r row) error {
		if r.text(0) != "ok" {
			found = fmt.Errorf("%w: %s", ErrCorrupt, r.text(0))
		}
		return nil
	}, "PRAGMA quick_check(1)")
	return errors.Join(found, err, c.close())
}
