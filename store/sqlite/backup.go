package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// Backup copies a consistent snapshot of the store to a new file at path while hosts use the store.
// The copy is one file, readable only by its user, with every page checked, and it is durable when
// Backup returns nil. After an error there is no file at path, or a complete one whose name may not
// survive a power failure. Backup holds a read transaction, so hosts can commit, but the WAL is not
// truncated until Backup ends. If path exists, the error matches fs.ErrExist. If ctx ends, the copy
// is discarded. It does not include run folders and engines' own data.
func (s *Store) Backup(ctx context.Context, path string) error {
	if err := s.backup(ctx, path); err != nil {
		return fmt.Errorf("sqlite: backup to %s: %w", path, explain(err))
	}
	return nil
}

func (s *Store) backup(ctx context.Context, path string) error {
	return place(path, func(partial string) error {
		// VACUUM uses a separate connection; taking one for listings makes Close wait for it
		return s.readOn(ctx, s.listers, func(*conn) error {
			if err := vacuumInto(ctx, s.path, partial); err != nil {
				return err
			}
			return s.present.check()
		})
	}, nil)
}

func vacuumInto(ctx context.Context, from, to string) (err error) {
	c, err := dial(from, "", []string{"busy_timeout(10000)"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	_, err = c.raw.ExecContext(ctx, "VACUUM INTO ?", []driver.NamedValue{{Ordinal: 1, Value: to}})
	if err != nil {
		return err
	}
	copied, err := dial(to, "", nil)
	if err != nil {
		return err
	}
	return errors.Join(copied.nameNoWAL(), copied.close())
}

// Restore copies a backup, or an equally self-contained file, to path, for Open. It checks it page
// by page and does not change it. No file may exist at path, path-wal or path-shm: SQLite would
// apply another database's leftovers as this one's newest changes. The error then matches
// fs.ErrExist; stop every process that has the old file open, and move all three away. A file that
// is foreign, newer or damaged is refused as by Open. The next Open migrates an older one. The copy
// is marked as by Restored.
func Restore(ctx context.Context, backup, path string) error {
	if err := restore(ctx, backup, path); err != nil {
		return fmt.Errorf("sqlite: restore %s from %s: %w", path, backup, explain(err))
	}
	return nil
}

func restore(ctx context.Context, backup, path string) error {
	for _, left := range []string{backup + "-wal", backup + "-journal", path + "-wal", path + "-shm"} {
		if err := requireAbsent(left); err != nil {
			return err
		}
	}
	from, err := os.Open(backup)
	if err != nil {
		return err
	}
	defer from.Close()
	return place(path, func(partial string) error {
		to, err := os.OpenFile(partial, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		n, err := io.Copy(to, reader{ctx, from})
		if err == nil && n == 0 {
			err = ErrNotDatabase
		}
		return errors.Join(err, to.Close())
	}, markFileRestored)
}

// place creates a file at path: fill writes a database into an empty file in the same folder, which
// is checked, changed by finish unless that is nil, flushed, and renamed last, so that a file at path
// is always complete.
func place(path string, fill, finish func(partial string) error) (err error) {
	if path, err = filepath.Abs(path); err != nil { // a file URI takes the first part of a relative path for a host
		return err
	}
	if err := requireAbsent(path); err != nil {
		return err
	}
	partial := path + ".partial-" + rand.Text()
	if err := create(partial, 0o600); err != nil {
		return err
	}
	defer func() {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			err = errors.Join(err, removeIfThere(partial+suffix))
		}
	}()
	if err := fill(partial); err != nil {
		return err
	}
	if err := checkWhole(partial); err != nil {
		return err
	}
	if finish != nil {
		if err := finish(partial); err != nil {
			return err
		}
	}
	if err := flushFile(partial); err != nil {
		return err
	}
	if err := requireAbsent(path); err != nil {
		return err
	}
	if err := os.Rename(partial, path); err != nil {
		return err
	}
	return flushFolder(filepath.Dir(path))
}

func checkWhole(path string) error {
	if _, err := inspectFile(path); err != nil {
		return err
	}
	return checkPages(context.Background(), path, "")
}

func requireAbsent(path string) error {
	_, err := os.Lstat(path)
	switch {
	case err == nil:
		return fmt.Errorf("%s: %w", path, fs.ErrExist)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func flushFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// flushNames makes the names of an open file and its companion files, such as the WAL, durable.
// SQLite flushes the folder itself but ignores errors; without this, a power failure could lose the
// name of a new WAL, and acknowledged commits with it.
func flushNames(path string) error {
	file, err := filepath.EvalSymlinks(path) // the WAL is in the folder of the real file
	if err != nil {
		return err
	}
	err = flushFolder(filepath.Dir(file))
	// A folder that may not be read cannot be flushed, and some file systems have no such call.
	if err == nil || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL) ||
		errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return fmt.Errorf("the names in its folder cannot be made durable: %w", err)
}

// flushFolder makes the names in a folder durable. Windows needs no equivalent.
func flushFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(syncFolder(f), f.Close())
}

// syncFolder is replaced in tests of a failing disk.
var syncFolder = (*os.File).Sync

// reader ends r with ctx.
type reader struct {
	ctx context.Context //nolint:containedctx // of the one call that reads
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
