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

// Budget bounds what the turns of a run use (J13). A field that is 0 bounds nothing.
type Budget struct {
	// Turns are those whose engine was called, the ones that are tried again or repeated included.
	Turns int `json:"turns"`
	// Tokens are the input and output tokens of all turns together, as the engine reports them.
	Tokens int64 `json:"tokens"`
}

// RunBudget is the budget of a run, and what the run has used of it. The sum stands in the record,
// and only of runs with a budget, so that whoever lets the next turn start reads it together with
// all else. A store checks that it grows by what Commit.Usage has.
type RunBudget struct {
	Limit Budget `json:"limit"`
	Used  Budget `json:"used"`
}

// Spent reports whether the run has used up its budget. A run without a budget has none to use up.
func (b *RunBudget) Spent() bool {
	return b != nil && (b.Limit.Turns > 0 && b.Used.Turns >= b.Limit.Turns ||
		b.Limit.Tokens > 0 && b.Used.Tokens >= b.Limit.Tokens)
}

// After returns the budget after a turn with this usage, which may be nil: nil if there is none.
// The budget itself does not change.
func (b *RunBudget) After(turn *Usage) *RunBudget {
	if b == nil || turn == nil {
		return b
	}
	next := *b
	// Each figure is at most MaxUsage, so the sum cannot overflow before it is bounded.
	next.Used.Tokens = min(next.Used.Tokens+turn.InputTokens+turn.OutputTokens, maxUsedTokens)
	return &next
}

// maxUsedTokens bounds the sum of a run's tokens. It is above every limit.
const maxUsedTokens = 1 << 61

// fits says whether the numbers of the budget are ones that a run may have.
func (b *RunBudget) fits(attempts int) bool {
	return b.Limit != (Budget{}) && b.Limit.Turns >= 0 && 0 <= b.Limit.Tokens && b.Limit.Tokens <= MaxUsage &&
		0 <= b.Used.Turns && b.Used.Turns <= attempts && 0 <= b.Used.Tokens && b.Used.Tokens <= maxUsedTokens
}

// TurnUsage is the usage of one turn of a run.
type TurnUsage struct {
	Attempt int
	Usage
}

// UsageReader is implemented by a store that keeps Commit.Usage. The stores of this project are
// UsageReaders, and storetest requires it of every store. A store that is none is given usage only
// with the turns of runs that have a budget, whose records count it, and need not keep it.
type UsageReader interface {
	// Usage returns the usage of the run's turns, by attempt: of those that had any. ErrNotFound
	// for an unknown run.
	Usage(ctx context.Context, id string) ([]TurnUsage, error)
}

// MaxUsage is the largest figure of one turn's usage, Worked in microseconds, so that the sum over
// a million turns is a number too.
const MaxUsage = 1 << 43

// checkBudget says whether the record counts what its turns have used of the budget, and no more:
// prev is the stored record. Only the decision about a held run changes the limits.
func (c *Commit) checkBudget(prev *Run) error {
	was, is := prev.Budget, c.Run.Budget
	switch {
	case was == nil && is == nil:
		return nil
	case was == nil || is == nil:
		return invalid(&c.Run, "a run has a budget from the beginning, or never")
	case was.Limit != is.Limit && !prev.Held():
		return invalid(&c.Run, "the limits of a budget change only when somebody decides about a held run")
	case is.Used.Tokens != was.After(c.Usage).Used.Tokens:
		return invalid(&c.Run, "%d tokens are used after %d, and the turn's usage is %+v", is.Used.Tokens,
			was.Used.Tokens, c.Usage)
	}
	turns := is.Used.Turns - was.Used.Turns
	starts := c.Run.Attempt - prev.Attempt
	ends := prev.State == fsm.StateRunning && c.Run.State != fsm.StateRunning
	if turns != starts && (turns != -1 || !ends) {
		return invalid(&c.Run, "%d turns are used after %d: a start adds one, and the end of a turn whose engine was "+
			"not called takes it back", is.Used.Turns, was.Used.Turns)
	}
	return nil
}

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
