package lifecycle

import (
	"context"
)

// RunUsage is the usage of a run so far.
type RunUsage struct {
	// Turns has the turns whose engine reported usage, by attempt, including retried, repeated and
	// interrupted ones.
	Turns []TurnUsage
	Total Usage
}

// Usage returns the usage of each ended turn of the run, and the sum: reported tokens and cost, and
// the execution time of workers, without time in the queue or waiting for people. The store never
// gets the usage of turns whose worker died, or during which the run was canceled or taken over; for
// the latter, Config.Observer gets it.
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
