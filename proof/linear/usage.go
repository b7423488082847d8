package linear

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// This file is the part of the model that is about what turns have used (J13): exactly the turns whose
// end was committed are counted, each once, whoever reads it; and about budgets, which hold a run that has
// used up its own until somebody raises it or ends the run.

// TextOfUsage is what one turn has used.
func TextOfUsage(u *store.Usage) string {
	if u == nil {
		return ""
	}
	return fmt.Sprintf("%d %d %d %d", u.InputTokens, u.OutputTokens, u.CostMicroUSD, u.Worked.Microseconds())
}

// TextOfTurns is what the turns of a run have used, one on each line, with their sum.
func TextOfTurns(turns []store.TurnUsage, total store.Usage) (text string) {
	for i := range turns {
		text += fmt.Sprintf("%d %s\n", turns[i].Attempt, TextOfUsage(&turns[i].Usage))
	}
	return text + "together " + TextOfUsage(&total)
}

// countUsage adds what the turn has used that a commit ends, before the contract decides what the end makes
// of the run. What its engine reported is known if there is evidence of the turn. A turn that its agent
// never began does not count.
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

// holdSpent holds a run that would start another turn and has used up its budget. Its agent gets the answer
// when somebody has raised the budget.
func (now run) holdSpent() run {
	if now.State == "queued" && now.Held == "" && now.spent() {
		now.Held = string(fsm.CodeBudgetExhausted)
		now.Seq++ // run.blocked
	}
	return now
}

// offers reports whether the decision is one that a person has about the held run.
func (now run) offers(r lifecycle.Resume) bool {
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

// raised is the limit of a budget after a decision, in which 0 leaves a number as it is.
func raised(limit, by store.Budget) store.Budget {
	return store.Budget{Turns: cmp.Or(by.Turns, limit.Turns), Tokens: cmp.Or(by.Tokens, limit.Tokens)}
}

// usage is the answer to whoever asks what the run has used.
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
