package lifecycle

import (
	"context"
)

// RunUsage is the usage of a run so far.
type RunUsage struct {
	// Turns has the turns whose engine reported usage, in the order of their attempts. It includes
	// turns that were retried, repeated or interrupted, and it stays complete after the run has
	// ended.
	Turns []TurnUsage
	// Total is their sum.
	Total Usage
}

// Usage returns the usage of each turn of the run, and the sum: the tokens and the cost that the
// engine reported, and the execution time of workers. It does not include the time in which the run
// was queued or waited for people. A turn is added when it ends.
//
// The usage of two kinds of turns is missing, because it never reaches the store: turns whose
// worker died, and turns during which the run was canceled or taken over by another node.
// Config.Observer gets the usage of the second kind.
func (c *Client) Usage(ctx context.Context, id string) (RunUsage, error) {
	if err := c.checkRun(ctx, id); err != nil {
		return RunUsage{}, err
	}
	if err := c.allowView(ctx, id); err != nil {
		return RunUsage{}, err
	}
	turns, err := c.proc.Store.Usage(ctx, id)
	u := RunUsage{Turns: turns}
	for _, t := range turns {
		u.Total.Add(t.Usage)
	}
	return u, err
}
