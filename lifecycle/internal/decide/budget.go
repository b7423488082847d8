package decide

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/interlude-go/interlude/store"
)

// A run's record counts its usage when a turn starts and ends. A commit that would queue the run
// with a used-up budget holds it instead, so claims need not check budgets.

// countTurn returns a copy of the budget with a number of turns, which may be negative, added.
func countTurn(b *store.RunBudget, turns int) *store.RunBudget {
	if b == nil {
		return nil
	}
	next := *b
	next.Used.Turns += turns
	return &next
}

// WithUsage returns the run with an ended turn's usage counted towards its budget. The turn itself
// counts if it has begun.
func WithUsage(run *store.Run, turn *store.Usage, begun bool) *store.Run {
	if run.Budget == nil {
		return run
	}
	after := *run
	after.Budget = run.Budget.After(turn)
	if !begun {
		after.Budget = countTurn(after.Budget, -1)
	}
	return &after
}

// Raise returns the budget with new limits; 0 keeps a limit.
func Raise(b *store.RunBudget, limit store.Budget) *store.RunBudget {
	next := *b
	next.Limit.Turns = cmp.Or(limit.Turns, b.Limit.Turns)
	next.Limit.Tokens = cmp.Or(limit.Tokens, b.Limit.Tokens)
	return &next
}

func spentReason(b *store.RunBudget) string {
	return fmt.Sprintf("the budget is used up: %s of %s", BudgetText(b.Used), BudgetText(b.Limit))
}

// BudgetText formats the numbers that are not 0.
func BudgetText(b store.Budget) string {
	var parts []string
	switch {
	case b.Turns == 1:
		parts = append(parts, "1 turn")
	case b.Turns != 0:
		parts = append(parts, fmt.Sprintf("%d turns", b.Turns))
	}
	if b.Tokens != 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", b.Tokens))
	}
	return cmp.Or(strings.Join(parts, " and "), "nothing")
}
