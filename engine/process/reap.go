package process

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/internal/procid"
)

// Reap ends the processes that a dead host left for the run. They are known by the token in their
// environment, which nobody can guess, and their group by the identity of its leader; nothing is
// ever ended by its number alone. Processes of a host that lives are its own to end: it may have
// taken the run over. It returns when they are gone; its error says which run's processes may be
// left, also on systems where an environment cannot be read.
func (t *Table) Reap(ctx context.Context, runID string) error {
	return t.endRecorded(ctx, runID, func(worker string) bool { return procid.Alive(worker) != procid.Living })
}

// CleanUp ends what dead hosts left, of every run on record, whatever became of it, and removes their
// records. Only hosts that are known to be dead count: one of another container that shares the
// folder may live. Where a system cannot tell (see the package), nothing is ended.
func (t *Table) CleanUp(ctx context.Context) error {
	return t.endRecorded(ctx, "", func(worker string) bool {
		return procid.Alive(worker) == procid.Dead || procid.OfEarlierBoot(worker)
	})
}

// endRecorded ends the recorded processes of hosts that are gone: those of the run, or all when
// runID is empty.
func (t *Table) endRecorded(ctx context.Context, runID string, gone func(worker string) bool) error {
	records, broken := t.recall(runID)
	if broken == nil {
		t.tidy(runID, gone)
	}
	known := make(map[string]bool) // workers have many processes
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
		if !procid.OfEarlierBoot(r.Worker) && !sweep(r.Token, endGroup(r)) && procid.Alive(r.Identity) != procid.Dead {
			broken = errors.Join(broken, fmt.Errorf("processes of run %s may still be alive: %s", r.RunID, r.Identity))
			continue
		}
		t.forget(r)
	}
	return broken
}
