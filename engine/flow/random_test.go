package flow_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/lifecycle/rehearsal"
)

// op is a statement of a random program: a step, a failing step, a question, a sleep, a value, a
// message, or branches of further statements.
type op struct {
	kind     string
	branches [][]op
}

// program draws statements, with branches inside of each other at most so deep.
func program(depth int) *rapid.Generator[[]op] {
	kinds := []string{"step", "step", "fails", "ask", "sleep", "now", "say"}
	return rapid.Custom(func(t *rapid.T) []op {
		ops := make([]op, rapid.IntRange(0, 4).Draw(t, "statements"))
		for i := range ops {
			if depth > 0 && rapid.IntRange(0, 4).Draw(t, "branches") == 0 {
				ops[i] = op{"all", rapid.SliceOfN(program(depth-1), 1, 3).Draw(t, "all")}
			} else {
				ops[i].kind = rapid.SampledFrom(kinds).Draw(t, "kind")
			}
		}
		return ops
	})
}

// meant interprets a program without flow: what it returns, and the keys of its effects.
func meant(prefix string, ops []op, effects map[string]int) string {
	var text strings.Builder
	for i, o := range ops {
		path := fmt.Sprint(prefix, i+1)
		switch o.kind {
		case "step", "fails":
			effects["rehearsal/"+path+"/s"] = 1
			text.WriteString(o.kind + path + " ")
		case "ask":
			text.WriteString("answer" + path + " ")
		case "all":
			for b, branch := range o.branches {
				text.WriteString("[" + meant(fmt.Sprintf("%s.b%d.", path, b+1), branch, effects) + "]")
			}
		}
	}
	return text.String()
}

// play is the program as a function.
func play(c *flow.Ctx, w *world, prefix string, ops []op) (string, error) {
	var text strings.Builder
	for i, o := range ops {
		path := fmt.Sprint(prefix, i+1)
		got, err := "", error(nil)
		switch o.kind {
		case "step":
			got, err = flow.Step(c, "s", w.effect("step"+path+" "))
		case "fails":
			_, err = flow.Step(c, "s", func(ctx context.Context) (string, error) {
				_, _ = w.effect("")(ctx)
				return "", fmt.Errorf("fails%s", path)
			})
			if failed, ok := err.(*flow.StepError); ok { //nolint:errorlint // it is not wrapped
				got, err = failed.Text+" ", nil
			}
		case "ask":
			got, err = flow.Ask[string](c, "q", ask("answer"+path+" ?"))
			got = strings.TrimSpace(got) + " "
		case "sleep":
			err = c.Sleep(36 * time.Hour)
		case "now":
			c.Now()
		case "say":
			err = c.Say(path)
		case "all":
			parts := make([]string, len(o.branches))
			branches := make([]func(*flow.Ctx) error, len(o.branches))
			for b, branch := range o.branches {
				branches[b] = func(c *flow.Ctx) (err error) {
					parts[b], err = play(c, w, fmt.Sprintf("%s.b%d.", path, b+1), branch)
					return err
				}
			}
			err = flow.All(c, branches...)
			got = "[" + strings.Join(parts, "][") + "]"
		}
		if err != nil {
			return "", err
		}
		text.WriteString(got)
	}
	return text.String(), nil
}

// M1: random programs of steps, questions, sleeps and branches come to the end that an interpreter
// without turns gives them, wherever their host crashes, and each step that was kept was executed once.
func TestM1RandomProgramsComeToTheirEnd(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ops := program(2).Draw(rt, "program")
		effects := make(map[string]int)
		want := meant("", ops, effects)
		w := &world{tries: make(map[string]int)}
		agent := flow.New("random", func(c *flow.Ctx, _ string) (string, error) { return play(c, w, "", ops) })
		run := rehearsal.Play(t, rehearsal.Case{Config: hosting(agent), Spec: lifecycle.Spec{Prompt: "x"},
			Reply: people, Crash: rapid.IntRange(0, 40).Draw(rt, "crash after commit")})
		require.Equal(rt, lifecycle.StateSucceeded, run.State, "%+v", run.Error)
		require.Equal(rt, strings.TrimSpace(want), strings.TrimSpace(run.FinalText))
		for key, tries := range w.tries {
			require.Contains(rt, effects, key)
			require.LessOrEqual(rt, tries, 2, key)
		}
		require.Len(rt, w.tries, len(effects))
	})
}
