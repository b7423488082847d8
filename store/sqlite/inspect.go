package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// applicationID marks a file as this package's: "ILud".
const applicationID = 0x494c7564

// inspect refuses a file that is not this package's, before anything is written to it.
func inspect(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%w: it is a folder", ErrNotDatabase)
	}
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
	if pages := int64(field(28)); errors.Is(walErr, os.ErrNotExist) && field(24) == field(92) && pages*pageSize > info.Size() {
		return fmt.Errorf("%w: the file has %d bytes, its header says %d", ErrCorrupt, info.Size(), pages*pageSize)
	}
	if id := field(68); id != 0 && id != applicationID {
		return fmt.Errorf("%w: application_id is %#x", ErrForeign, id)
	}
	return inspectSchema(path)
}

// inspectSchema reads the version and the tables through a read-only connection, since they may still stand in the WAL.
func inspectSchema(path string) error {
	c, err := dial(path, "ro", []string{"busy_timeout(10000)"})
	if err != nil {
		return explain(err)
	}
	defer c.close() //nolint:errcheck // nothing was written
	var id, version, tables int64
	for _, q := range []struct {
		text string
		into *int64
	}{
		{"PRAGMA application_id", &id}, {"PRAGMA user_version", &version}, {"SELECT count(*) FROM sqlite_schema", &tables},
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
		return fmt.Errorf("%w: schema version is %d, this package knows %d", ErrNewer, version, len(migrations))
	}
	return nil
}
