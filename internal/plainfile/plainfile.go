// Package plainfile opens files in folders that others can write to, an agent say. Whoever can
// write to a folder can put a named pipe where a file is expected, which blocks who opens it, or a
// link to a file elsewhere. Here a file is opened without waiting and without following a link, and
// looked at before anything is read or written: it is a regular file, and one that is written is
// this user's and has one name.
//
// Neighbours: engine/transcript, engine/process, engine/agents, engine/checkpoint and lifecycle use
// it in the folders of runs.
package plainfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Root opens the folder. It is refused when it is a link itself. What is opened below it stays
// below it.
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

// Append opens the file in the folder to append to it; it is made, for this user alone, when there
// is none.
func Append(dir, name string) (*os.File, error) {
	root, err := Root(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // an open file stays open
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

// Read reads a file of at most limit bytes below the folder, whose own name may be a link. Nothing
// outside of it is read.
func Read(dir, name string, limit int64) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // was only read
	f, err := open(root, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // was only read
	body, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(body)) > limit {
		err = fmt.Errorf("%s is too large: want at most %d bytes", f.Name(), limit)
	}
	if err != nil {
		return nil, err
	}
	return body, nil
}

// open opens the file, and refuses what is not plain. A flag that would change a file at once
// (os.O_TRUNC) has no place here.
func open(root *os.Root, name string, flag int) (*os.File, error) {
	f, err := root.OpenFile(name, flag|noWait, 0o600)
	if err != nil {
		// a pipe that nobody reads, say
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

// plain reports what is wrong with an open file.
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

// ErrRefused says that something else is where a plain file or folder is expected.
var ErrRefused = errors.New("not opened: remove it")

func refused(path, why string) error { return fmt.Errorf("%s %s: %w", path, why, ErrRefused) }

// kind names what is no regular file.
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
