// Package plainfile opens files in folders to which others, such as an agent, can write. They can
// replace a file with a named pipe, which blocks the reader, or with a link to a file elsewhere.
// This package opens a file without waiting and without following a link, and checks it before use:
// it must be a regular file; a written file must also belong to this user and have one name.
package plainfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Root opens the folder, unless it is a link. Files opened through it cannot be outside of it.
func Root(dir string) (*os.Root, error) {
	seen, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, refused(dir, "is "+kind(seen.Mode())+", want a folder")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(seen, opened) {
		err = refused(dir, "was replaced while it was opened")
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// Append opens the file in the folder for appending. It creates a missing file with access for this
// user only.
func Append(dir, name string) (*os.File, error) {
	root, err := Root(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // the file stays open without its folder
	f, err := open(root, name, os.O_APPEND|os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		if why := shared(info); why != "" {
			err = refused(f.Name(), why)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Read reads a file of at most limit bytes below the folder, and nothing outside of it. The
// folder's own name may be a link.
func Read(dir, name string, limit int64) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return read(root, name, limit)
}

// ReadBelow is Read for a folder that is not a link: its parent, too, belongs to others.
func ReadBelow(dir, name string, limit int64) ([]byte, error) {
	root, err := Root(dir)
	if err != nil {
		return nil, err
	}
	return read(root, name, limit)
}

// OpenBelow opens a file below a folder, for reading. Neither is a link.
func OpenBelow(dir, name string) (*os.File, error) {
	root, err := Root(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // the file stays open without its folder
	return open(root, name, os.O_RDONLY)
}

func read(root *os.Root, name string, limit int64) ([]byte, error) {
	defer func() { _ = root.Close() }() // it was only read
	f, err := open(root, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(body)) > limit {
		err = fmt.Errorf("%s is too large: want at most %d bytes", f.Name(), limit)
	}
	if err != nil {
		return nil, err
	}
	return body, nil
}

// open opens the file, unless it is not plain. The flag must not change the file before the check,
// as os.O_TRUNC would.
func open(root *os.Root, name string, flag int) (*os.File, error) {
	f, err := root.OpenFile(name, flag|noWait, 0o600)
	if err != nil {
		// for example a pipe without a reader
		if info, statErr := root.Lstat(name); statErr == nil && !info.Mode().IsRegular() {
			return nil, refused(filepath.Join(root.Name(), name), "is "+kind(info.Mode())+", want a regular file")
		}
		return nil, err
	}
	if err := plain(root, name, f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func plain(root *os.Root, name string, f *os.File) error {
	opened, err := f.Stat()
	if err != nil {
		return err
	}
	named, err := root.Lstat(name)
	switch {
	case err != nil:
		return err
	case !named.Mode().IsRegular():
		return refused(f.Name(), "is "+kind(named.Mode())+", want a regular file")
	case !os.SameFile(opened, named):
		return refused(f.Name(), "was replaced while it was opened")
	}
	return nil
}

// ErrRefused: the name belongs to something that is not a plain file or folder.
var ErrRefused = errors.New("not opened: remove it")

func refused(path, why string) error { return fmt.Errorf("%s %s: %w", path, why, ErrRefused) }

func kind(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a file"
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	default:
		return "a device"
	}
}
