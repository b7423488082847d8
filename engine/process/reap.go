package process

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/internal/procid"
)

// Reap ends the processes that a dead host left of the run, and returns when they are gone. It
// finds them by the token in their environment, which nobody can guess, and their group by the
// identity of its leader; no process is ever ended by its number alone. It does not touch processes
// of a host that lives, which may have taken the run over. The error names processes that may be
// left, also on systems where an environment cannot be read.
func (t *Table) Reap(ctx context.Context, runID string) error {
	return t.endRecorded(ctx, runID, func(worker string) bool { return procid.Alive(worker) != procid.Living })
}

// CleanUp ends the processes that dead hosts left of any run, and removes their records. A host
// must be known to be dead: one that shares the folder from another container may live. Where the
// system cannot tell (see the package), nothing is ended.
func (t *Table) CleanUp(ctx context.Context) error {
	return t.endRecorded(ctx, "", func(worker string) bool {
		return procid.Alive(worker) == procid.Dead || procid.OfEarlierBoot(worker)
	})
}

// endRecorded ends the recorded processes of hosts that are gone: those of the run, or all when
// runID is empty.
func (t *Table) endRecorded(ctx context.Context, runID string, gone func(worker string) bool) error {
	records, broken := t.readRecords(runID)
	if broken == nil {
		t.removePartial(runID, gone)
	}
	known := make(map[string]bool) // by worker, which has many processes
	for _, r := range records {
		if ctx.Err() != nil {
			return errors.Join(broken, context.Cause(ctx))
		}
		if _, asked := known[r.Worker]; !asked {
			known[r.Worker] = gone(r.Worker)
		}
		if !known[r.Worker] {
			continue
		}
		ended := procid.OfEarlierBoot(r.Worker) || endByToken(r.Token, endGroup(r))
		if !ended && procid.Alive(r.Identity) != procid.Dead {
			broken = errors.Join(broken, fmt.Errorf("processes of run %s may still be alive: %s", r.RunID, r.Identity))
			continue
		}
		t.remove(r)
	}
	return broken
}
