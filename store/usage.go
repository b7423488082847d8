package store

import (
	"time"

	"github.com/interlude-go/interlude/fsm"
)

// Usage is what turns have used: reported numbers, and the workers' execution time, without
// people's time. All are whole numbers, so that sums are the same on every store.
type Usage struct {
	InputTokens, OutputTokens int64
	// CostMicroUSD is the cost in millionths of a US dollar; 0 if unknown.
	CostMicroUSD int64
	// Worked is a whole number of microseconds, like all stored times.
	Worked time.Duration
}

// CostUSD is the cost in US dollars.
func (u Usage) CostUSD() float64 { return float64(u.CostMicroUSD) / 1e6 }

func (u *Usage) Add(more Usage) {
	u.InputTokens += more.InputTokens
	u.OutputTokens += more.OutputTokens
	u.CostMicroUSD += more.CostMicroUSD
	u.Worked += more.Worked
}

func (u *Usage) Subtract(turns Usage) {
	u.InputTokens -= turns.InputTokens
	u.OutputTokens -= turns.OutputTokens
	u.CostMicroUSD -= turns.CostMicroUSD
	u.Worked -= turns.Worked
}

// Budget limits the usage of a run's turns. 0 in a field: no limit.
type Budget struct {
	// Turns is the number of turns whose engine was called, including retries and repeats.
	Turns int `json:"turns"`
	// Tokens is the sum of the turns' reported input and output tokens.
	Tokens int64 `json:"tokens"`
}

// RunBudget is a run's budget and its usage so far. Only runs with a budget store it, so that a
// decision about the next turn needs only the record. A store checks that Used grows by
// Commit.Usage.
type RunBudget struct {
	Limit Budget `json:"limit"`
	Used  Budget `json:"used"`
}

// Spent reports whether the run has used up its budget; false without a budget.
func (b *RunBudget) Spent() bool {
	return b != nil && (b.Limit.Turns > 0 && b.Used.Turns >= b.Limit.Turns ||
		b.Limit.Tokens > 0 && b.Used.Tokens >= b.Limit.Tokens)
}

// After returns a copy of the budget after a turn with this usage, or nil for a nil budget.
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

func (b *RunBudget) fits(attempts int) bool {
	return b.Limit != (Budget{}) && b.Limit.Turns >= 0 && 0 <= b.Limit.Tokens && b.Limit.Tokens <= MaxUsage &&
		0 <= b.Used.Turns && b.Used.Turns <= attempts && 0 <= b.Used.Tokens && b.Used.Tokens <= maxUsedTokens
}

// TurnUsage is the usage of one turn of a run.
type TurnUsage struct {
	Attempt int
	Usage
}

// MaxUsage bounds each field of a turn's usage (Worked in microseconds), so that the sum over a
// million turns does not overflow an int64.
const MaxUsage = 1 << 43

// validateBudget compares the run's budget with the stored record prev. Used tokens must grow by
// exactly this commit's usage, and used turns by the turns that it starts. The limits may change
// only if the stored run was held.
func (c *Commit) validateBudget(prev *Run) error {
	was, is := prev.Budget, c.Run.Budget
	switch {
	case was == nil && is == nil:
		return nil
	case was == nil || is == nil:
		return invalid(&c.Run, "a run has a budget from the beginning, or never")
	case was.Limit != is.Limit && !prev.Held():
		return invalid(&c.Run, "the limits of a budget change only by a decision about a held run")
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

func (c *Commit) validateUsage(prev *Run) error {
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
