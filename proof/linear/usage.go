package linear

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// This file models usage and budgets (J13). Usage: the store has each committed turn's usage, once,
// and every reader sees the same. Budgets: a run that has used up its budget is held until a person
// raises the budget or ends the run.

// TextOfUsage is the usage of one turn as text.
func TextOfUsage(u *store.Usage) string {
	if u == nil {
		return ""
	}
	return fmt.Sprintf("%d %d %d %d", u.InputTokens, u.OutputTokens, u.CostMicroUSD, u.Worked.Microseconds())
}

// TextOfTurns is the usage of the turns of a run as text, one turn a line, and their sum.
func TextOfTurns(turns []store.TurnUsage, total store.Usage) (text string) {
	for i := range turns {
		text += fmt.Sprintf("%d %s\n", turns[i].Attempt, TextOfUsage(&turns[i].Usage))
	}
	return text + "together " + TextOfUsage(&total)
}

// countUsage adds the usage of the turn that a commit ends, before the contract decides the run's
// next state. If there is evidence of the turn, the commit must store the usage that the engine
// reported. A turn whose engine was never called is not counted in the budget.
func (now run) countUsage(c *Change) (after run, wrong string) {
	ends := now.State == "running" && c.After.State != "running"
	if b := c.After.Budget; ends && b != nil && !c.Began && c.Fence != nil && b.Used.Turns == now.Used.Turns-1 {
		now.Used.Turns--
	}
	if e := c.Evidence; e != nil {
		reported := ""
		if f := strings.Fields(TextOfUsage(c.Usage)); len(f) > 0 {
			reported = strings.Join(f[:3], " ")
		}
		if reported != e.Used {
			return now, fmt.Sprintf("the turn has used %q, and its end is stored with %q", e.Used, reported)
		}
	}
	if c.Usage == nil {
		return now, ""
	}
	if !ends {
		return now, fmt.Sprintf("usage is stored, and no turn ends: from %s to %s", now.State, c.After.State)
	}
	now.used = with(now.used, now.Attempt, TextOfUsage(c.Usage))
	if now.Limit != (store.Budget{}) {
		now.Used.Tokens += c.Usage.InputTokens + c.Usage.OutputTokens
	}
	return now, ""
}

// spent reports whether the run has used up its budget.
func (now run) spent() bool {
	return now.Limit.Turns > 0 && now.Used.Turns >= now.Limit.Turns ||
		now.Limit.Tokens > 0 && now.Used.Tokens >= now.Limit.Tokens
}

// holdSpent holds a run that would start another turn but has used up its budget. Its agent gets
// the answer when the budget was raised.
func (now run) holdSpent() run {
	if now.State == "queued" && now.Held == "" && now.spent() {
		now.Held = string(fsm.CodeBudgetExhausted)
		now.Seq++ // run.blocked
	}
	return now
}

// allowsResume reports whether this decision may be made about the held run. Any held run may be
// ended. A run that is held for its budget continues only with a budget that is not used up; any
// other held run continues with a repeat of its turn.
func (now run) allowsResume(r lifecycle.Resume) bool {
	forBudget := now.Held == string(fsm.CodeBudgetExhausted)
	switch r.Choice {
	case lifecycle.ChoiceRaise:
		now.Limit = raised(now.Limit, r.Budget)
		return forBudget && !now.spent()
	case lifecycle.ChoiceRepeat:
		return !forBudget
	}
	return r.Choice == lifecycle.ChoiceEnd
}

// raised returns the limit after a decision that raises it; 0 leaves a number as it is.
func raised(limit, by store.Budget) store.Budget {
	return store.Budget{Turns: cmp.Or(by.Turns, limit.Turns), Tokens: cmp.Or(by.Tokens, limit.Tokens)}
}

// usage is the expected answer to a call that reads the usage of the run.
func (now run) usage() string {
	var total [4]int64
	for line := range strings.Lines(now.used) {
		var attempt int
		var turn [4]int64
		// countUsage wrote numbers
		_, _ = fmt.Sscan(line, &attempt, &turn[0], &turn[1], &turn[2], &turn[3])
		for i := range total {
			total[i] += turn[i]
		}
	}
	return now.used + "together " + strings.Trim(fmt.Sprint(total), "[]")
}
