package exec

import "context"

// Reap ends the processes that a dead host left for the run; see process.Table.
func (e *Engine) Reap(ctx context.Context, runID string) error { return e.processes.Reap(ctx, runID) }

// CleanUp ends what dead hosts left of any run; see process.Table.
func (e *Engine) CleanUp(ctx context.Context) error { return e.processes.CleanUp(ctx) }
