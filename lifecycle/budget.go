package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// This file decides about budgets (J13). What a run with a budget has used stands in its record,
// and grows in the commits that start and end its turns. The commit that would let the next turn
// start holds the run if that is used up: an accepted reply, an automatic decision, a retry, a
// repeat, or the end of another hold. So nothing has to look at budgets while runs are claimed.

// MaxBudgetTurns and MaxBudgetTokens are the largest limits of a Budget.
const (
	MaxBudgetTurns  = 1_000_000
	MaxBudgetTokens = store.MaxUsage
)

// faultOfBudget says which number is wrong, and what is wanted; empty if none is.
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

// newBudget is the budget of a new run; nil if it has none.
func newBudget(limit Budget) *store.RunBudget {
	if limit == (Budget{}) {
		return nil
	}
	return &store.RunBudget{Limit: limit}
}

// countTurn returns the budget with a turn more, or less.
func countTurn(b *store.RunBudget, turns int) *store.RunBudget {
	if b == nil {
		return nil
	}
	next := *b
	next.Used.Turns += turns
	return &next
}

// withUsage returns the run as its turn leaves it, with what the turn has used of the budget. A
// turn whose engine was not called has used nothing.
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

// raise returns the budget with new limits. A limit that is 0 stays as it is.
func raise(b *store.RunBudget, limit Budget) *store.RunBudget {
	next := *b
	next.Limit.Turns = cmp.Or(limit.Turns, b.Limit.Turns)
	next.Limit.Tokens = cmp.Or(limit.Tokens, b.Limit.Tokens)
	return &next
}

// holdForBudget makes the commit hold its run, which is queued and has used up its budget.
func holdForBudget(c *store.Commit) error {
	row, err := fsm.Next(c.Run.State, fsm.EventRunBlocked, factsOf(&c.Run, &details{}))
	if err != nil {
		return err
	}
	c.Run.Block = &store.Block{
		Kind: store.BlockHeld, Code: fsm.CodeBudgetExhausted, Reason: spentReason(c.Run.Budget),
		Choices: slices.Clone(budgetChoices),
	}
	why := cause{from: c.Run.State, event: row.Event, details: &details{}}
	for _, e := range row.Emits {
		if err := why.addEvents(c, e.Type); err != nil {
			return err
		}
	}
	return nil
}

// spentReason says what is used up, for a person.
func spentReason(b *store.RunBudget) string {
	return fmt.Sprintf("the budget is used up: %s of %s", textOfBudget(b.Used), textOfBudget(b.Limit))
}

// textOfBudget writes the numbers, without limits that there are not.
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
