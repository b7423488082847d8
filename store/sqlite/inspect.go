package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// applicationID marks a file as this package's: "ILud".
const applicationID = 0x494c7564

// inspect refuses a file that is not this package's, before anything is written to it. It makes a
// file that does not exist.
func inspect(path string, mode fs.FileMode) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return create(path, mode)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%w: it is a folder: name a file in it", ErrNotDatabase)
	case !info.Mode().IsRegular(): // opening a named pipe would wait for somebody who writes to it
		return fmt.Errorf("%w: it is no regular file (%s)", ErrNotDatabase, info.Mode().Type())
	case info.Size() == 0:
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 100)
	if _, err := io.ReadFull(f, head); err != nil || !bytes.HasPrefix(head, []byte("SQLite format 3\x00")) {
		return ErrNotDatabase
	}
	field := func(at int) uint32 { return binary.BigEndian.Uint32(head[at:]) }
	pageSize := int64(binary.BigEndian.Uint16(head[16:]))
	if pageSize == 1 {
		pageSize = 65536
	}
	_, walErr := os.Stat(path + "-wal")
	if pages := int64(field(28)); errors.Is(walErr, os.ErrNotExist) && field(24) == field(92) &&
		pages*pageSize > info.Size() {
		return fmt.Errorf("%w: the file has %d bytes, its header says %d", ErrCorrupt, info.Size(), pages*pageSize)
	}
	if id := field(68); id != 0 && id != applicationID {
		return fmt.Errorf("%w: application_id is %#x", ErrForeign, id)
	}
	return unwritable(path, inspectSchema(path))
}

// create makes an empty file, so that it has the mode from its first moment. SQLite gives the same
// one to the files that it makes beside it.
func create(path string, mode fs.FileMode) error {
	folder := filepath.Dir(path)
	if info, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s does not exist: make it, or correct the path: %w", folder, err)
	} else if err == nil && !info.IsDir() {
		return fmt.Errorf("%s is a file and no folder: correct the path: %w", folder, fs.ErrInvalid)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, mode)
	if err != nil {
		return fmt.Errorf("%w: no file can be made in the folder: %w", ErrReadOnly, err)
	}
	return errors.Join(f.Chmod(mode), f.Close()) // the mode that was asked for, whatever the process's umask takes away
}

// unwritable adds to an error of SQLite's what cannot be written: the file, or the folder in which
// it makes others.
func unwritable(path string, err error) error {
	if !errors.Is(err, ErrReadOnly) {
		return err
	}
	f, opening := os.OpenFile(path, os.O_RDWR, 0)
	if opening != nil {
		return fmt.Errorf("%w: %w", err, opening)
	}
	_ = f.Close() // nothing was written
	return fmt.Errorf("%w: the file may be written; its folder must be, too, for %s-wal and %[2]s-shm", err,
		filepath.Base(path))
}

// newer says that a file cannot be used because this package is too old.
func newer(version int64) error {
	return fmt.Errorf("%w: schema version is %d, this package knows %d: use a version of the package that is at "+
		"least as new as the one "+
		"that wrote the file; there is no way back but a backup", ErrNewer, version, len(migrations))
}

// inspectSchema reads the version and the tables through a read-only connection, since they may
// still stand in the WAL.
func inspectSchema(path string) error {
	err := inspectSchemaAs(path, "ro")
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code() == sqlite3.SQLITE_READONLY_ROLLBACK {
		// Power was lost while the file was made, before it had a WAL: the journal beside it takes
		// back the half of a write, which a connection that only reads may not do.
		err = inspectSchemaAs(path, "rw")
	}
	return err
}

func inspectSchemaAs(path, mode string) error {
	c, err := dial(path, mode, []string{"busy_timeout(10000)"})
	if err != nil {
		return explain(err)
	}
	defer c.close() //nolint:errcheck // nothing was written
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
			return explain(err)
		}
		*q.into = r.int(0)
	}
	switch {
	case id == 0 && tables == 0: // made, but nothing was stored yet
		return nil
	case id != applicationID:
		return fmt.Errorf("%w: application_id is %#x", ErrForeign, id)
	case version > int64(len(migrations)):
		return newer(version)
	case version < 1:
		return fmt.Errorf("%w: it has tables and schema version %d: %s", ErrSchema, version, otherSchema)
	}
	return explain(c.checkSchema(int(version)))
}
