package linear

import (
	"fmt"
	"strings"

	"github.com/interlude-go/interlude/store"
)

// This file is the part of the model that is about what turns have used (J13): exactly the turns whose
// end was committed are counted, each once, whoever reads it.

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

// countUsage adds what the turn has used that a commit ends. What its engine reported is known if there is
// evidence of the turn.
func (now run) countUsage(before run, c *Change) (after run, wrong string) {
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
	if before.State != "running" || now.State == "running" {
		return now, fmt.Sprintf("usage is stored, and no turn ends: from %s to %s", before.State, now.State)
	}
	now.used = with(now.used, before.Attempt, TextOfUsage(c.Usage))
	if now.terms.Budget {
		now.Tokens += c.Usage.InputTokens + c.Usage.OutputTokens
	}
	return now, ""
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
