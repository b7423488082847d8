package process

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/internal/procid"
)

// Reap ends the processes that a dead host left for the run. They are known by the token in their environment, which
// nobody can guess, and their group by the identity of its leader; nothing is ever ended by its number alone. Processes
// of a host that lives are its own to end: it may have taken the run over. It returns when they are gone; its error says which run's
// processes may be left, also on systems where an environment cannot be read.
func (t *Table) Reap(ctx context.Context, runID string) error {
	records, broken := t.recall(runID)
	if broken == nil {
		t.tidy(runID)
	}
	for _, r := range records {
		if procid.Alive(r.Worker) == procid.Living {
			continue
		}
		if !sweep(r.Token, endGroup(r)) && procid.Alive(r.Identity) != procid.Dead {
			broken = errors.Join(broken, fmt.Errorf("processes of run %s may still be alive: %s", runID, r.Identity))
			continue
		}
		t.forget(r)
		if ctx.Err() != nil {
			return errors.Join(broken, context.Cause(ctx))
		}
	}
	return broken
}
