package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync/atomic"
)

// present watches over the files that the store has open. SQLite goes on with a file that was
// removed or replaced while it is open, and so does the operating system: commits would be
// acknowledged, and be gone with the process. So the writer compares the paths with the files that
// were opened before it acknowledges a transaction (J9), at the cost of two calls of stat for each
// flush. When a file is found missing or replaced, every later call of the store fails with
// ErrReplaced: the path now names another database or none, and only a new Open may use it.
type present struct {
	files []openedFile
	lost  atomic.Pointer[string] // the path of the first file that was found missing or replaced
}

type openedFile struct {
	path string
	id   fileID
}

// committed is how many of the files hold what was committed; the last one is shared memory.
const committed = 2

// newPresent notes the files of an open database: its own, and those that SQLite keeps beside it
// for as long as anybody has it open.
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

// check returns ErrReplaced unless each path still names the file that was opened.
func (p *present) check() error { return p.compare(p.files, new(fileID)) }

// checkCommitted is check for the files that hold what was committed. The writer brings the memory
// for it.
func (p *present) checkCommitted(id *fileID) error { return p.compare(p.files[:committed], id) }

func (p *present) compare(files []openedFile, id *fileID) error {
	for i := range files {
		f := &files[i]
		err := identify(f.path, id)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue // the error says nothing about the file: the folder may not be searched, for example
		}
		if err != nil || !f.id.same(id) {
			p.lost.CompareAndSwap(nil, &f.path)
			break
		}
	}
	return p.err()
}

// err returns ErrReplaced once a file was found missing. It costs nothing.
func (p *present) err() error {
	path := p.lost.Load()
	if path == nil {
		return nil
	}
	return fmt.Errorf("%w: %s is no longer the file that was opened", ErrReplaced, *path)
}
