package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/interlude-go/interlude/internal/procid"
)

// ErrUnsupported: this system has no process groups and signals.
var ErrUnsupported = errors.New("process: child processes are not supported on this system: process groups and " +
	"signals are needed")

// Table stores a record for each started process, by which a later host finds the processes of a
// dead one. It is safe for concurrent use, also by several processes in one folder.
type Table struct {
	dir string
	// shared means that the records are in the system's temporary folder, where other users could
	// have created it first.
	shared bool
	memory meter
}

// NewTable stores records in dir, which must be on this machine and outlive the processes. Empty:
// the user's folder in the system's temporary folder, which is refused if others can write to it.
// It is created by the first Start.
func NewTable(dir string) *Table {
	if dir == "" {
		return &Table{dir: filepath.Join(os.TempDir(), "interlude-"+strconv.Itoa(os.Getuid())), shared: true}
	}
	return &Table{dir: dir}
}

// Start starts a process. Its record is written first, so a later host can find it by its token
// after any failure of this one. The error wraps the system's.
func (t *Table) Start(c Command) (*Process, error) {
	if !Supported {
		return nil, ErrUnsupported
	}
	if c.MaxMemory < 0 || c.MaxMemory > 0 && !MeasuresMemory {
		return nil, ErrNoMemoryLimit
	}
	rec := newRecord(c.RunID)
	rec.Temp = c.tempPath()
	if err := t.write(rec); err != nil {
		return nil, err
	}
	err := rec.makeTemp()
	if err != nil {
		t.remove(rec)
		return nil, err
	}
	p, err := start(c, rec)
	if err != nil {
		if rec.removeTemp() == nil {
			t.remove(rec)
		}
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

// Reap ends the processes that a dead host left for the run, and waits for their end. It finds them
// by the unguessable token in their environment, and their group by the identity of its leader,
// never by number only. It does not touch processes of a living host, which may have taken the run
// over. The error names processes that may be left, also on systems where an environment cannot be
// read.
func (t *Table) Reap(ctx context.Context, runID string) error {
	return t.endRecorded(ctx, runID, func(worker string) bool { return procid.Alive(worker) != procid.Living })
}

// CleanUp ends the processes that dead hosts left for any run, and removes their temporary folders
// and records. A host must be known to be dead, because a host in another container may share the
// folder. If the system cannot decide this (see the package), no process is ended.
func (t *Table) CleanUp(ctx context.Context) error {
	return t.endRecorded(ctx, "", func(worker string) bool {
		return procid.Alive(worker) == procid.Dead || procid.OfEarlierBoot(worker)
	})
}

// endRecorded ends the recorded processes of dead hosts: those for the run, or all if runID is
// empty.
func (t *Table) endRecorded(ctx context.Context, runID string, gone func(worker string) bool) error {
	records, broken := t.readRecords(runID)
	if broken == nil {
		t.removePartial(runID, gone)
	}
	hostGone := make(map[string]bool) // by worker, because one worker may have many records
	for _, r := range records {
		if ctx.Err() != nil {
			return errors.Join(broken, context.Cause(ctx))
		}
		if _, cached := hostGone[r.Worker]; !cached {
			hostGone[r.Worker] = gone(r.Worker)
		}
		if !hostGone[r.Worker] {
			continue
		}
		ended := procid.OfEarlierBoot(r.Worker) || endByToken(r.Token, endGroup(r))
		if !ended && procid.Alive(r.Identity) != procid.Dead {
			broken = errors.Join(broken, fmt.Errorf("processes of run %s may still be alive: %s", r.RunID, r.Identity))
			continue
		}
		if err := r.removeTemp(); err != nil {
			broken = errors.Join(broken, err)
			continue
		}
		t.remove(r)
	}
	return broken
}
