package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// This file decides about budgets (J13). The record of a run with a budget has what the run has
// used so far. The commits that start and end a turn update it. A commit that would queue the run
// for its next turn (an accepted reply, an automatic decision, a retry, a repeat, or the end of
// another hold or of a wait for children) holds the run instead if the budget is used up. Claims
// therefore need not check budgets.

// MaxBudgetTurns and MaxBudgetTokens are the largest limits of a Budget.
const (
	MaxBudgetTurns  = 1_000_000
	MaxBudgetTokens = store.MaxUsage
)

// faultOfBudget returns the number that is invalid and what it should be; both are empty if the
// budget is valid.
func faultOfBudget(b Budget) (value, want string) {
	switch {
	case b.Turns < 0 || b.Turns > MaxBudgetTurns:
		return fmt.Sprintf("with Turns %d", b.Turns), fmt.Sprintf("1 to %d, or 0 for no limit", MaxBudgetTurns)
	case b.Tokens < 0 || b.Tokens > MaxBudgetTokens:
		return fmt.Sprintf("with Tokens %d", b.Tokens), fmt.Sprintf("1 to %d, or 0 for no limit",
			int64(MaxBudgetTokens))
	}
	return "", ""
}

// newBudget returns the budget of a new run; nil if the run has none.
func newBudget(limit Budget) *store.RunBudget {
	if limit == (Budget{}) {
		return nil
	}
	return &store.RunBudget{Limit: limit}
}

// countTurn returns a copy of the budget with the number of turns added to what is used. The number
// may be negative.
func countTurn(b *store.RunBudget, turns int) *store.RunBudget {
	if b == nil {
		return nil
	}
	next := *b
	next.Used.Turns += turns
	return &next
}

// withUsage returns the run with the usage of its ended turn counted towards the budget. If the
// engine was not called (begun is false), the turn itself does not count either.
func withUsage(run *store.Run, turn *Usage, begun bool) *store.Run {
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

// raise returns the budget with new limits. A new limit of 0 keeps the old one.
func raise(b *store.RunBudget, limit Budget) *store.RunBudget {
	next := *b
	next.Limit.Turns = cmp.Or(limit.Turns, b.Limit.Turns)
	next.Limit.Tokens = cmp.Or(limit.Tokens, b.Limit.Tokens)
	return &next
}

// holdForBudget changes a commit that queues a run whose budget is used up: the commit also holds
// the run.
func holdForBudget(c *store.Commit) error {
	row, err := fsm.Next(c.Run.State, fsm.EventRunBlocked, factsOf(&c.Run, &details{}))
	if err != nil {
		return err
	}
	c.Run.Block = &store.Block{
		Kind: store.BlockHeld, Code: fsm.CodeBudgetExhausted, Reason: spentReason(c.Run.Budget),
		Choices: slices.Clone(budgetChoices),
	}
	return addTransitionEvents(c, row.Emits, &details{from: c.Run.State, event: row.Event})
}

// spentReason describes the used budget, as the reason that a person reads.
func spentReason(b *store.RunBudget) string {
	return fmt.Sprintf("the budget is used up: %s of %s", textOfBudget(b.Used), textOfBudget(b.Limit))
}

// textOfBudget formats the numbers that are not 0.
func textOfBudget(b Budget) string {
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
