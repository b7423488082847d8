package process

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
)

// ErrUnsupported says that this system has no process groups and signals.
var ErrUnsupported = errors.New("process: child processes are not supported on this system: process groups and " +
	"signals are needed")

// Table keeps a record for each process that it started, by which a later host finds what a dead
// one left. It is safe for concurrent use, also by several processes in one folder.
type Table struct {
	dir string
	// shared says that the records are in the system's temporary folder, where others may have been
	// first.
	shared bool
	memory meter
}

// NewTable keeps its records in dir, which must outlive the processes and be this machine's own.
// Empty stands for a folder of the user's in the system's temporary folder, which is refused when
// others can write to it. Nothing is made before the first Start.
func NewTable(dir string) *Table {
	if dir == "" {
		return &Table{dir: filepath.Join(os.TempDir(), "interlude-"+strconv.Itoa(os.Getuid())), shared: true}
	}
	return &Table{dir: dir}
}

// Start starts a process. It is on record before it exists, so that whatever happens to this host,
// a later one knows it by its token. The error is the system's, wrapped.
func (t *Table) Start(c Command) (*Process, error) {
	if !Supported {
		return nil, ErrUnsupported
	}
	if c.MaxMemory < 0 || c.MaxMemory > 0 && !MeasuresMemory {
		return nil, ErrNoMemoryLimit
	}
	rec := newRecord(c.RunID)
	if err := t.write(rec); err != nil {
		return nil, err
	}
	p, err := start(c, rec)
	if err != nil {
		t.remove(rec)
		return nil, err
	}
	p.table = t
	p.record.Identity = p.identity()
	if err := t.write(p.record); err != nil {
		p.End()
		p.Release()
		return nil, err
	}
	if c.MaxMemory > 0 {
		go p.limitMemory(&t.memory, c.MaxMemory) // ends with the process
	}
	return p, nil
}
