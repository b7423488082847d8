package store

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

var atNoon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func queuedRun() Run {
	return Run{ID: "a", Version: 2, Pool: "p", State: fsm.StateQueued, CreatedAt: atNoon, UpdatedAt: atNoon,
		QueuedAt: atNoon, Seq: 3}
}

// eachRule requires that the cases break all rules of the function, and that no two cases break the
// same rule.
func eachRule(t *testing.T, function, good string, cases map[string]string) {
	t.Helper()
	require.Empty(t, good, "nothing is broken without a change")
	rules := make(map[string]string)
	for name, rule := range cases {
		require.NotEmpty(t, rule, name)
		require.NotContains(t, rules, rule, "%s and %s break the same rule", name, rules[rule])
		rules[rule] = name
	}
	require.Len(t, rules, countRules(t, function))
}

// countRules counts the rules of a function in rules.go, which are the cases of its switch.
func countRules(t *testing.T, function string) (rules int) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "rules.go", nil, 0)
	require.NoError(t, err)
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || types.ExprString(f.Recv.List[0].Type)+"."+f.Name.Name != function {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if c, ok := n.(*ast.CaseClause); ok && c.List != nil {
				rules++
			}
			return true
		})
	}
	return rules
}

// I10: each rule of a record is broken by a record that meets the rules before it.
func TestEachRuleOfARunIsBroken(t *testing.T) {
	broken := func(change func(*Run)) string {
		r := queuedRun()
		change(&r)
		return r.brokenRule()
	}
	eachRule(t, "*Run.brokenRule", broken(func(*Run) {}), map[string]string{
		"counters":    broken(func(r *Run) { r.Yielded = 1 }),
		"holds":       broken(func(r *Run) { r.Holds = 1 }),
		"journal":     broken(func(r *Run) { r.Journal = &interaction.JournalSize{Entries: 2, Bytes: 1} }),
		"budget":      broken(func(r *Run) { r.Budget = &RunBudget{} }),
		"block":       broken(func(r *Run) { r.Block = &Block{Kind: BlockHeld} }),
		"family":      broken(func(r *Run) { r.Family = &Family{} }),
		"fork":        broken(func(r *Run) { r.ForkedFrom = &ForkPoint{RunID: "a"} }),
		"required":    broken(func(r *Run) { r.Pool = "" }),
		"state":       broken(func(r *Run) { r.State = "paused" }),
		"pending":     broken(func(r *Run) { r.Open = []interaction.Question{{ID: 1}} }),
		"answer":      broken(func(r *Run) { r.Answers = make([]interaction.Answer, 2) }),
		"deadline":    broken(func(r *Run) { r.Deadline = atNoon }),
		"running":     broken(func(r *Run) { r.State = fsm.StateRunning }),
		"slot":        broken(func(r *Run) { r.Slot = true }),
		"finished":    broken(func(r *Run) { r.State = fsm.StateFailed }),
		"finished_at": broken(func(r *Run) { r.FinishedAt = atNoon }),
		"queued_at":   broken(func(r *Run) { r.QueuedAt = time.Time{} }),
		"remembered":  broken(func(r *Run) { r.Remembered = []interaction.Memory{{ID: 1}} }),
		"times":       broken(func(r *Run) { r.RecoveredAt = atNoon.Add(1) }),
	})
	again := queuedRun()
	again.ForkedFrom = &ForkPoint{RunID: "b", AsksAgain: interaction.MaxQuestions + 1}
	require.ErrorContains(t, again.Validate(), textOfFork)
	blocked := queuedRun()
	blocked.NotBefore = atNoon.Add(1)
	blocked.Block = &Block{Kind: BlockSleep, Until: blocked.NotBefore}
	require.ErrorContains(t, blocked.Validate(), "times are UTC")
}

// I10: each rule of a commit is broken by a commit that meets the rules before it.
func TestEachRuleOfACommitIsBroken(t *testing.T) {
	broken := func(change func(*Commit)) string {
		c := &Commit{Run: queuedRun(), Expect: 1, Events: make([]Event, 1)}
		change(c)
		return c.brokenRule()
	}
	eachRule(t, "*Commit.brokenRule", broken(func(*Commit) {}), map[string]string{
		"version": broken(func(c *Commit) { c.Run.Version = 3 }),
		"spec":    broken(func(c *Commit) { c.Spec = []byte("s") }),
		"events":  broken(func(c *Commit) { c.Events = make([]Event, 4) }),
	})
	created := func(change func(*Commit)) string {
		c := &Commit{Run: queuedRun(), Spec: []byte("s"), Events: make([]Event, 3)}
		change(c)
		return c.brokenRuleOfCreation()
	}
	eachRule(t, "*Commit.brokenRuleOfCreation", created(func(*Commit) {}), map[string]string{
		"creation": created(func(c *Commit) { c.Spec = nil }),
		"journal":  created(func(c *Commit) { c.Run.Journal = &interaction.JournalSize{} }),
		"answer":   created(func(c *Commit) { c.Run.Answers = []interaction.Answer{{}} }),
		"fork": created(func(c *Commit) {
			c.Run.Answers, c.Run.ForkedFrom = []interaction.Answer{{}}, &ForkPoint{RunID: "b", AsksAgain: 1}
		}),
		"state": created(func(c *Commit) { c.Run.Attempt = 1 }),
	})
}

// I10: each rule of a change is broken by a change that meets the rules before it.
func TestEachRuleOfAChangeIsBroken(t *testing.T) {
	// of returns the broken rule of a commit that starts a turn by a claim, or leaves the run queued.
	of := func(claim bool, spoil func(c *Commit, prev *Run)) string {
		c, prev := &Commit{Run: queuedRun(), Expect: 1, Events: make([]Event, 1)}, queuedRun()
		prev.Version, prev.Seq = 1, 2
		if claim {
			c.Run.State, c.Run.Slot, c.Run.Owner, c.Run.Attempt, c.Run.Epoch = fsm.StateRunning, true, "n", 1, 1
		}
		spoil(c, &prev)
		return c.brokenRuleOfChange(&prev, claim)
	}
	require.Empty(t, of(true, func(*Commit, *Run) {}))
	eachRule(t, "*Commit.brokenRuleOfChange", of(false, func(*Commit, *Run) {}), map[string]string{
		"terminal":   of(false, func(_ *Commit, p *Run) { p.State = fsm.StateFailed }),
		"seq":        of(false, func(c *Commit, _ *Run) { c.Run.Seq++ }),
		"transition": of(false, func(c *Commit, _ *Run) { c.Run.State = fsm.StateSucceeded }),
		"event": of(false, func(c *Commit, _ *Run) {
			c.Run.State, c.Events, c.Run.Seq = fsm.StateCanceled, nil, 2
		}),
		"claimable":  of(true, func(_ *Commit, p *Run) { p.Block = &Block{Kind: BlockHeld} }),
		"claim":      of(true, func(c *Commit, _ *Run) { c.Run.State = fsm.StateQueued }),
		"attempt":    of(true, func(c *Commit, _ *Run) { c.Run.Attempt = 0 }),
		"slot":       of(false, func(c *Commit, _ *Run) { c.Run.Slot = true }),
		"epoch":      of(false, func(c *Commit, _ *Run) { c.Run.Epoch = 1 }),
		"yielded":    of(false, func(c *Commit, _ *Run) { c.Run.Yielded = 1 }),
		"monotone":   of(false, func(c *Commit, _ *Run) { c.Run.UpdatedAt = atNoon.Add(-1) }),
		"submission": of(false, func(c *Commit, _ *Run) { c.Run.Pool = "q" }),
		"not_before": of(false, func(c *Commit, _ *Run) { c.Run.NotBefore = atNoon }),
	})
}

func BenchmarkRules(b *testing.B) {
	prev := queuedRun()
	prev.Version, prev.Seq = 1, 2
	c := &Commit{Run: queuedRun(), Expect: 1, Events: []Event{{Seq: 3, Body: []byte("{}")}}}
	b.ReportAllocs()
	for b.Loop() {
		if c.Validate() != nil || c.ValidateNext(&prev, false) != nil {
			b.Fatal("refused")
		}
	}
}
