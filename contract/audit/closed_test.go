package audit_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/internal/sample"
)

// findings returns all violations that a checker finds in a log.
func findings(c *audit.Checker, log string) []audit.Violation {
	var found []audit.Violation
	for line := range strings.Lines(log) {
		found = append(found, c.Line([]byte(line))...)
	}
	return append(found, c.Close()...)
}

// A1, F8: the slim end of a run gives the same verdict as its whole view, whatever follows the end.
func TestSummaryOfAnEndedRunGivesTheSameVerdict(t *testing.T) {
	sample.Sequential(t)
	t.Parallel()
	judge := func(name, log string) {
		t.Helper()
		short, whole := audit.NewChecker(), audit.NewChecker()
		require.True(t, *audit.Slim(short))
		*audit.Slim(whole) = false
		require.Equal(t, findings(whole, log), findings(short, log), name)
		require.Equal(t, whole.Tally(), short.Tally(), name)
	}
	for _, folder := range []string{"good", "violations"} {
		for name, body := range logs(t, folder) {
			judge(name, body)
		}
	}
	for _, name := range []string{"question-and-answer", "restored"} {
		log := logs(t, "good")[name]
		lines := strings.SplitAfter(strings.TrimSuffix(log, "\n"), "\n")
		last := len(lines)
		for _, after := range lines {
			for _, renumbered := range []string{after, reSeq(after, last), reSeq(after, last+1)} {
				judge("after the end", log+"\n"+renumbered)
				judge("by another engine", log+"\n"+strings.Replace(renumbered, `"demo"`, `"other"`, 1))
				judge("later", log+"\n"+strings.Replace(renumbered, `"2026-03-01T09`, `"2026-03-01T10`, 1))
			}
		}
	}
}

// reSeq replaces the sequence number of a line.
func reSeq(line string, seq int) string {
	before, rest, _ := strings.Cut(line, `"seq":`)
	_, after, _ := strings.Cut(rest, ",")
	return fmt.Sprintf(`%s"seq":%d,%s`, before, seq, after)
}

// If a rule of a test's contract needs more of an ended run than a slim end, the whole view is
// kept.
func TestEndedRunIsKeptWholeWhereARuleNeedsIt(t *testing.T) {
	t.Parallel()
	l := contract.Load()
	for i, v := range l.Invariants {
		if v.Kind == "absorbing" {
			l.Invariants = append(l.Invariants[:i:i], l.Invariants[i+1:]...)
			break
		}
	}
	c := audit.NewCheckerFor(l)
	require.False(t, *audit.Slim(c))
	require.Empty(t, findings(c, logs(t, "good")["question-and-answer"]))
	require.Equal(t, audit.Tally{Lines: 11, Runs: 1}, c.Tally())
}

// G4: only the first violation of a run is reported, even if it is a line that cannot be read.
func TestCheckLimitsAnUnreadableLineToItsRun(t *testing.T) {
	t.Parallel()
	good := strings.SplitAfter(logs(t, "good")["question-and-answer"], "\n")
	for _, spoilt := range []string{
		strings.Replace(good[0], `"engine":"demo"`, `"engine":7`, 1),
		strings.Replace(good[0], `"conversation.started"`, `"conversation.begun"`, 1),
		strings.Replace(good[0], `"pool":"default"`, "\"pool\":\"d\xffefault\"", 1),
	} {
		c := audit.NewChecker()
		found := findings(c, spoilt+strings.Join(good[1:], "")+strings.ReplaceAll(strings.Join(good, ""), "run-1",
			"run-2"))
		require.Len(t, found, 1)
		require.Equal(t, audit.Violation{Invariant: "IV-01", RunID: "run-1", Line: 1, Seq: 1,
			Explanation: found[0].Explanation}, found[0])
		require.Equal(t, 2, c.Tally().Runs)
		require.Zero(t, c.Tally().Unfinished)
	}
}

// A long log of many runs takes little memory for each run that has ended.
func TestEndedRunsCostLittle(t *testing.T) {
	sample.Sequential(t)
	log := logs(t, "good")["question-and-answer"]
	require.Empty(t, findings(audit.NewChecker(), log), "what all checkers share is there")
	c := audit.NewChecker()
	before := heap()
	const runs = 500
	for i := range runs {
		require.Empty(t, findings(c, strings.ReplaceAll(log, "run-1", fmt.Sprintf("run-%d-%032d", i, i))))
	}
	grown := heap() - before
	require.Equal(t, audit.Tally{Lines: 11 * runs, Runs: runs}, c.Tally())
	require.Less(t, grown/runs, int64(400), "bytes a run")
	runtime.KeepAlive(c)
}
