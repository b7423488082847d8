package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync/atomic"
)

// present monitors the store's open files. SQLite keeps using a file that was removed or replaced
// while open: commits would be acknowledged, and disappear with the process. So before each
// acknowledgement the writer compares the paths with the opened files, by two stat calls per flush.
// Once a file is missing or replaced, every later call fails with ErrReplaced: only a new Open may
// use the path.
type present struct {
	files []openedFile
	lost  atomic.Pointer[string] // the first file found missing or replaced
}

type openedFile struct {
	path string
	id   fileID
}

// committed is the number of files with committed data; the last file is shared memory.
const committed = 2

// newPresent records the files of an open database, including SQLite's companion files, which exist
// while any process has it open.
func newPresent(path string) (*present, error) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	p := new(present)
	for _, name := range []string{path, target + "-wal", target + "-shm"} {
		f := openedFile{path: name}
		if err := identify(name, &f.id); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		p.files = append(p.files, f)
	}
	return p, nil
}

// check returns ErrReplaced unless each path still names the opened file.
func (p *present) check() error { return p.compare(p.files, new(fileID)) }

// checkCommitted is check for the files with committed data. The writer provides the memory.
func (p *present) checkCommitted(id *fileID) error { return p.compare(p.files[:committed], id) }

func (p *present) compare(files []openedFile, id *fileID) error {
	for i := range files {
		f := &files[i]
		err := identify(f.path, id)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue // the error says nothing about the file, for example if the folder is not searchable
		}
		if err != nil || !f.id.same(id) {
			p.lost.CompareAndSwap(nil, &f.path)
			break
		}
	}
	return p.err()
}

// err returns ErrReplaced once a file was found missing, without a check.
func (p *present) err() error {
	path := p.lost.Load()
	if path == nil {
		return nil
	}
	return fmt.Errorf("%w: %s is no longer the file that was opened", ErrReplaced, *path)
}
