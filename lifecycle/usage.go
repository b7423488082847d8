package lifecycle

import (
	"context"
	"math"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/store"
)

// RunUsage is what a run has used so far.
type RunUsage struct {
	// Turns has the turns whose engine reported usage, in the order of their attempts. It includes
	// turns that were retried, repeated or interrupted, and it stays complete after the run has
	// ended.
	Turns []TurnUsage
	// Total is their sum.
	Total Usage
}

// Usage returns what each turn of the run has used, and the sum: the tokens and the cost that the
// engine reported, and how long workers executed these turns. It does not include the time in which
// the run was queued or waited for people. A turn is added when it ends.
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

// usageOf converts what an engine reported into numbers that every store can keep. A negative value
// and NaN become 0, and a value above the limit becomes the limit.
func usageOf(reported engine.Usage, worked time.Duration) Usage {
	bounded := func(n int64) int64 { return min(max(n, 0), store.MaxUsage) }
	cost := math.Round(reported.CostUSD * 1e6)
	if math.IsNaN(cost) {
		cost = 0
	}
	return Usage{
		InputTokens: bounded(reported.InputTokens), OutputTokens: bounded(reported.OutputTokens),
		CostMicroUSD: int64(min(max(cost, 0), store.MaxUsage)),
		Worked:       time.Duration(bounded(worked.Microseconds())) * time.Microsecond,
	}
}

// storedUsage returns the usage that is stored with the end of the turn. It is nil if the engine
// reported none, so that plain turns write nothing.
func storedUsage(reported engine.Usage, used Usage) *Usage {
	if reported == (engine.Usage{}) {
		return nil
	}
	kept := used // a copy, so that nothing is allocated for a plain turn
	return &kept
}
