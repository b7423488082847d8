package flow_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/lifecycle/rehearsal"
	"github.com/interlude-go/interlude/store/memory"
)

// world records the steps' effects outside of the run, by key.
type world struct {
	mu    sync.Mutex
	tries map[string]int // guarded by mu
}

// effect is a step that returns the word, recorded by key.
func (w *world) effect(word string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.tries[flow.Key(ctx)]++
		return word, nil
	}
}

// check requires these effects, each with one key. Only the step whose commit the crash has hit may
// have been executed twice.
func (w *world) check(t *testing.T, keys ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	repeated := 0
	for _, key := range keys {
		require.Contains(t, w.tries, "rehearsal/"+key)
		repeated += w.tries["rehearsal/"+key] - 1
	}
	require.Len(t, w.tries, len(keys), "%v", w.tries)
	require.LessOrEqual(t, repeated, 1, "%v", w.tries)
}

func people(q lifecycle.Question) lifecycle.Reply {
	return lifecycle.Reply{Text: strings.TrimSuffix(q.Prompt, "?")}
}

func hosting(agent engine.Engine) lifecycle.Config {
	return lifecycle.Config{Engine: agent, Forgiving: true, OnInterrupt: lifecycle.Repeat}
}

// M1 M5: the order agent (charge, ask, ship in a loop, sleep, mail) ends the same wherever its host
// crashes; no stored step is executed again, and no answer is lost.
func TestM1AnOrderSurvivesACrashAtEveryCommit(t *testing.T) {
	rehearsal.EveryCrash(t, func(*testing.T) rehearsal.Case {
		w := &world{tries: make(map[string]int)}
		agent := flow.New("order", func(c *flow.Ctx, items []string) (out, error) {
			text, err := flow.Step(c, "charge", w.effect("charged"))
			if err != nil {
				return out{}, err
			}
			where, err := flow.Ask[string](c, "ship", ask("Rome?"))
			if err != nil {
				return out{}, err
			}
			for _, item := range items {
				parcel, err := flow.Step(c, "ship", w.effect(item+" to "+where))
				if err != nil {
					return out{}, err
				}
				text += ", " + parcel
			}
			if err := c.Sleep(7 * 24 * time.Hour); err != nil {
				return out{}, err
			}
			_, err = flow.Step(c, "mail", w.effect("mail"))
			return out{text}, err
		})
		return rehearsal.Case{Config: hosting(agent), Spec: lifecycle.Spec{Input: []byte(`["tea","cup"]`)},
			Reply: people, Check: func(t *testing.T, run lifecycle.Run) {
				require.JSONEq(t, `{"text":"charged, tea to Rome, cup to Rome"}`, string(run.Output))
				w.check(t, "1/charge", "3/ship", "4/ship", "6/mail")
				require.Greater(t, run.FinishedAt.Sub(run.CreatedAt), 7*24*time.Hour)
			}}
	})
}

// M1 M5: the same for branches that ask together and the compensation of a failed function.
func TestM1BranchesAndCompensationSurviveACrashAtEveryCommit(t *testing.T) {
	rehearsal.EveryCrash(t, func(*testing.T) rehearsal.Case {
		w := &world{tries: make(map[string]int)}
		agent := flow.New("trip", func(c *flow.Ctx, _ string) (string, error) {
			book := func(what string) func(c *flow.Ctx) error {
				return func(c *flow.Ctx) error {
					if _, err := flow.Step(c, "book", w.effect(what)); err != nil {
						return err
					}
					c.Defer("cancel", func(ctx context.Context) error { _, err := w.effect(what)(ctx); return err })
					_, err := flow.Ask[string](c, "fine", ask(what+"?"))
					return err
				}
			}
			if err := flow.All(c, book("flight"), book("hotel")); err != nil {
				return "", err
			}
			return "", errors.New("no visa")
		})
		return rehearsal.Case{Config: hosting(agent), Spec: lifecycle.Spec{Prompt: "x"}, Reply: people,
			Check: func(t *testing.T, run lifecycle.Run) {
				require.Equal(t, lifecycle.StateFailed, run.State)
				require.Equal(t, "no visa", run.Error.Message)
				w.mu.Lock()
				defer w.mu.Unlock()
				require.Len(t, w.tries, 4, "%v", w.tries)
			}}
	})
}

// unlucky is an agent that is lost in each turn after a number of entries.
type unlucky struct {
	engine.Engine
	after int
}

// RunTurn kills the agent from outside.
func (u unlucky) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	o, err := u.Engine.RunTurn(ctx, t, &counting{s, s.(engine.Journal), u.after, kill})
	if ctx.Err() != nil {
		return engine.Outcome{Process: engine.Process{Status: engine.Interrupted, Detail: "killed"}}, nil
	}
	return o, err
}

type counting struct {
	engine.Sink
	engine.Journal

	left int
	kill func()
}

func (s *counting) Append(ctx context.Context, entries ...engine.JournalEntry) error {
	if s.left == 0 {
		s.kill()
		return context.Cause(ctx)
	}
	s.left--
	return s.Journal.Append(ctx, entries...)
}

// J3 M1: a function that stores a step in each turn finishes, however often it is lost; one that is
// lost at the same step repeatedly fails.
func TestJ3M1AFunctionThatGetsFurtherIsNotGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		after, turns int
		code         engine.Code
	}{
		"a step a turn":   {1, 9, ""},
		"no step at all":  {0, 1 + lifecycle.DefaultMaxRepeats, lifecycle.CodeTurnRepeatLimitExceeded},
		"all in one turn": {9, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := world{tries: make(map[string]int)}
				h := serve(t, memory.New(), unlucky{after: c.after, Engine: flow.New("long",
					func(c *flow.Ctx, _ string) (string, error) {
						for range 9 {
							if _, err := flow.Step(c, "step", w.effect("done")); err != nil {
								return "", err
							}
						}
						return "ok", nil
					})})
				h.submit(lifecycle.Spec{})
				time.Sleep(time.Minute)
				r := h.run()
				require.Equal(t, c.turns, r.Attempt)
				if c.code != "" {
					require.Equal(t, c.code, r.Error.Code)
					return
				}
				require.Equal(t, "ok", h.ended())
				require.Len(t, w.tries, 9)
			})
		})
	}
}
