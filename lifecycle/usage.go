package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/store"
)

// RunUsage is what a run has used so far (J13).
type RunUsage struct {
	// Turns are those whose engine reported usage, by attempt: also turns that were tried again,
	// repeated or interrupted, and those of a run that has ended.
	Turns []TurnUsage
	// Total is their sum.
	Total Usage
}

// ErrNoUsage is the error of Usage if the store does not keep it. The stores of this project do.
var ErrNoUsage = fmt.Errorf("lifecycle: the store is no store.UsageReader: %w", errors.ErrUnsupported)

// Usage returns what the run has used, turn by turn, and the sum: tokens and cost as its engine
// reported them, and for how long workers executed those turns. The time for which the run was
// queued, or waited for people, is no part of it. The turn that executes now is added when it ends.
//
// What the store does not learn is missing: the usage of a turn whose worker died, and of one whose
// run was canceled or taken over by another node meanwhile. Config.Observer is told the latter.
func (c *Client) Usage(ctx context.Context, id string) (RunUsage, error) {
	if err := c.checkRun(ctx, id); err != nil {
		return RunUsage{}, err
	}
	s, ok := c.store.(store.UsageReader)
	if !ok {
		return RunUsage{}, ErrNoUsage
	}
	turns, err := s.Usage(ctx, id)
	u := RunUsage{Turns: turns}
	for _, t := range turns {
		u.Total.Add(t.Usage)
	}
	return u, err
}

// addUsage is the usage of one round of a turn and of those before it.
func addUsage(a, b engine.Usage) engine.Usage {
	return engine.Usage{InputTokens: a.InputTokens + b.InputTokens, OutputTokens: a.OutputTokens + b.OutputTokens,
		CostUSD: a.CostUSD + b.CostUSD}
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

// storedUsage is the usage that is stored with the turn of the run: nil if the engine reported none,
// so that plain turns write nothing, or if the store keeps none and nothing is counted by it.
func (t *turn) storedUsage(run *store.Run, reported engine.Usage, used Usage) *Usage {
	if reported == (engine.Usage{}) || !t.node.keepsUsage && run.Budget == nil {
		return nil
	}
	kept := used // a copy, so that nothing is allocated for a plain turn
	return &kept
}
