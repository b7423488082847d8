package store

import (
	"context"
	"time"

	"github.com/interlude-go/interlude/fsm"
)

// Usage is what turns have used: the figures that engines report, and the time for which workers
// executed them. A person's time is no part of it. The figures are whole numbers, so that a sum is
// the same on every store.
type Usage struct {
	InputTokens, OutputTokens int64
	// CostMicroUSD is the cost in millionths of a US dollar, where the engine knows it.
	CostMicroUSD int64
	// Worked is in microseconds, as times are.
	Worked time.Duration
}

// CostUSD is the cost in US dollars.
func (u Usage) CostUSD() float64 { return float64(u.CostMicroUSD) / 1e6 }

// Add adds the usage of further turns.
func (u *Usage) Add(more Usage) {
	u.InputTokens += more.InputTokens
	u.OutputTokens += more.OutputTokens
	u.CostMicroUSD += more.CostMicroUSD
	u.Worked += more.Worked
}

// Subtract takes away the usage of turns that were added before.
func (u *Usage) Subtract(turns Usage) {
	u.InputTokens -= turns.InputTokens
	u.OutputTokens -= turns.OutputTokens
	u.CostMicroUSD -= turns.CostMicroUSD
	u.Worked -= turns.Worked
}

// TurnUsage is the usage of one turn of a run.
type TurnUsage struct {
	Attempt int
	Usage
}

// UsageReader is implemented by a store that keeps Commit.Usage. The stores of this project are
// UsageReaders, and storetest requires it of every store. Nobody gives usage to a store that is
// none.
type UsageReader interface {
	// Usage returns the usage of the run's turns, by attempt: of those that had any. ErrNotFound
	// for an unknown run.
	Usage(ctx context.Context, id string) ([]TurnUsage, error)
}

// MaxUsage is the largest figure of one turn's usage, Worked in microseconds, so that the sum over
// a million turns is a number too.
const MaxUsage = 1 << 43

// checkUsage says whether the commit may have the usage that it has: prev is the stored record.
func (c *Commit) checkUsage(prev *Run) error {
	u := c.Usage
	if u == nil {
		return nil
	}
	if prev.State != fsm.StateRunning || c.Run.State == fsm.StateRunning {
		return invalid(&c.Run, "usage is stored when a turn ends; it goes from %s to %s", prev.State, c.Run.State)
	}
	for _, figure := range []int64{u.InputTokens, u.OutputTokens, u.CostMicroUSD, u.Worked.Microseconds()} {
		if figure < 0 || figure > MaxUsage {
			return invalid(&c.Run, "a figure of its usage is %d, want 0 to %d", figure, int64(MaxUsage))
		}
	}
	if u.Worked%time.Microsecond != 0 {
		return invalid(&c.Run, "its working time is %s, want whole microseconds", u.Worked)
	}
	return nil
}
