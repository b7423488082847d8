package flow_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/lifecycle/rehearsal"
)

// op is a statement of a random program: a step, a failing step, a question, a sleep, a value, a
// message, branches, or a child with its program.
type op struct {
	kind     string
	branches [][]op
}

// program draws statements, with branches nested at most depth levels.
func program(depth int) *rapid.Generator[[]op] {
	kinds := []string{"step", "step", "fails", "ask", "sleep", "now", "say"}
	return rapid.Custom(func(t *rapid.T) []op {
		ops := make([]op, rapid.IntRange(0, 4).Draw(t, "statements"))
		for i := range ops {
			nested := -1
			if depth > 0 {
				nested = rapid.IntRange(0, 7).Draw(t, "nested")
			}
			switch nested {
			case 0:
				ops[i] = op{"all", rapid.SliceOfN(program(depth-1), 1, 3).Draw(t, "all")}
			case 1:
				ops[i] = op{"child", rapid.SliceOfN(program(depth-1), 1, 1).Draw(t, "child")}
			default:
				ops[i].kind = rapid.SampledFrom(kinds).Draw(t, "kind")
			}
		}
		return ops
	})
}

// meant interprets a program without flow: its result, the places of its effects, and its
// children's programs.
func meant(prefix string, ops []op, effects map[string]int, children map[string][]op) string {
	var text strings.Builder
	for i, o := range ops {
		path := fmt.Sprint(prefix, i+1)
		switch o.kind {
		case "step", "fails":
			effects[path] = 1
			text.WriteString(o.kind + path + " ")
		case "ask":
			text.WriteString("answer" + path + " ")
		case "all":
			for b, branch := range o.branches {
				text.WriteString("[" + meant(fmt.Sprintf("%s.b%d.", path, b+1), branch, effects, children) + "]")
			}
		case "child":
			children[path] = o.branches[0]
			text.WriteString("(" + strings.TrimSpace(meant(path+".c.", o.branches[0], effects, children)) + ")")
		}
	}
	return text.String()
}

// places records a play's steps by their place in the program.
type places struct {
	mu    sync.Mutex
	keys  map[string]string // guarded by mu; a place has the same key in each execution
	tries map[string]int    // guarded by mu
}

func (p *places) effect(path, word string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		key := flow.Key(ctx)
		if p.tries[path]++; p.keys[path] != "" && p.keys[path] != key {
			return "", fmt.Errorf("%s had the key %s, and has %s", path, p.keys[path], key)
		}
		p.keys[path] = key
		return word, nil
	}
}

// play is the program as a function.
func play(c *flow.Ctx, w *places, prefix string, ops []op) (string, error) {
	var text strings.Builder
	for i, o := range ops {
		path := fmt.Sprint(prefix, i+1)
		got, err := "", error(nil)
		switch o.kind {
		case "step":
			got, err = flow.Step(c, "s", w.effect(path, "step"+path+" "))
		case "fails":
			_, err = flow.Step(c, "s", func(ctx context.Context) (string, error) {
				if _, err := w.effect(path, "")(ctx); err != nil {
					return "", err
				}
				return "", fmt.Errorf("fails%s", path)
			})
			if failed, ok := err.(*flow.StepError); ok { //nolint:errorlint // it is not wrapped
				got, err = failed.Text+" ", nil
			}
		case "ask":
			got, err = flow.Ask[string](c, "q", ask("answer"+path+" ?"))
			got = strings.TrimSpace(got) + " "
		case "sleep":
			if err = c.Sleep(10 * time.Minute); err == nil && !strings.Contains(prefix, "c") {
				err = c.Sleep(36 * time.Hour) // a wait for a child polls once a minute
			}
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
		case "child":
			got, err = flow.Run[string](c, "child", engine.Child{Prompt: path})
			got = "(" + got + ")"
		}
		if err != nil {
			return "", err
		}
		text.WriteString(got)
	}
	return text.String(), nil
}

// M1 M3: random programs end as in an interpreter without turns, wherever their host crashes, and
// each stored step is executed once.
func TestM1RandomProgramsComeToTheirEnd(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ops := program(2).Draw(rt, "program")
		effects, children := make(map[string]int), make(map[string][]op)
		want := meant("", ops, effects, children)
		w := &places{keys: make(map[string]string), tries: make(map[string]int)}
		agent := flow.New("random", func(c *flow.Ctx, path string) (string, error) {
			if path == "root" {
				return play(c, w, "", ops)
			}
			said, err := play(c, w, path+".c.", children[path])
			return strings.TrimSpace(said), err
		})
		run := rehearsal.Play(t, rehearsal.Case{Config: hosting(agent), Spec: lifecycle.Spec{Prompt: "root"},
			Reply: people, Crash: rapid.IntRange(0, 40).Draw(rt, "crash after commit")})
		require.Equal(rt, lifecycle.StateSucceeded, run.State, "%+v", run.Error)
		require.Equal(rt, strings.TrimSpace(want), strings.TrimSpace(run.FinalText))
		for key, tries := range w.tries {
			require.Contains(rt, effects, key)
			require.LessOrEqual(rt, tries, 2, key)
		}
		require.Len(rt, w.tries, len(effects))
		require.Len(rt, slices.Compact(slices.Sorted(maps.Values(w.keys))), len(effects), "each has a key of its own")
	})
}
