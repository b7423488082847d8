package flow_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
)

func second[T any](_ T, err error) error { return err }

func one(context.Context) (int, error) { return 1, nil }

// uses has every call that uses a Ctx.
var uses = map[string]func(c *flow.Ctx) error{
	"Ask": func(c *flow.Ctx) error { return second(flow.Ask[string](c, "q", ask("?"))) },
	"AskAll": func(c *flow.Ctx) error {
		return second(flow.AskAll(c, "q", engine.Rule{}, ask("?"), ask("??")))
	},
	"Approve": func(c *flow.Ctx) error {
		q, err := engine.ApprovalOf("call", "tool", map[string]int{"n": 1})
		return errors.Join(err, second(flow.Approve(c, "q", q)))
	},
	"Sleep":   func(c *flow.Ctx) error { return c.Sleep(time.Hour) },
	"Sleep 0": func(c *flow.Ctx) error { return c.Sleep(0) },
	"Spawn":   func(c *flow.Ctx) error { return second(flow.Spawn(c, "k", engine.Child{Prompt: "child"})) },
	"Run":     func(c *flow.Ctx) error { return second(flow.Run[string](c, "k", engine.Child{Prompt: "child"})) },
	"RunAll":  func(c *flow.Ctx) error { return second(flow.RunAll[string](c, "k", engine.Child{Prompt: "child"})) },
	"Wait":    func(c *flow.Ctx) error { return second(flow.Wait[string](c, flow.Child{RunID: "x", Name: "x"})) },
	"WaitAny": func(c *flow.Ctx) error { return second(flow.WaitAny(c, flow.Child{RunID: "x"})) },
	"Step":    func(c *flow.Ctx) error { return second(flow.Step(c, "s", one)) },
	"All":     func(c *flow.Ctx) error { return flow.All(c, func(*flow.Ctx) error { return nil }) },
	"All of steps": func(c *flow.Ctx) error {
		return flow.All(c, func(c *flow.Ctx) error { return second(flow.Step(c, "s", one)) })
	},
	"Now":     func(c *flow.Ctx) error { c.Now(); return nil },
	"ID":      func(c *flow.Ctx) error { c.ID(); return nil },
	"Rand":    func(c *flow.Ctx) error { c.Rand(); return nil },
	"Say":     func(c *flow.Ctx) error { return c.Say("hello") },
	"Version": func(c *flow.Ctx) error { flow.Version(c, "v", 1); return nil },
	"Defer":   func(c *flow.Ctx) error { c.Defer("d", func(context.Context) error { return nil }); return nil },
}

// encoded calls f when it is encoded.
type encoded struct{ f func() }

func (e encoded) MarshalJSON() ([]byte, error) { e.f(); return []byte(`{}`), nil }

// described calls f when its text is read.
type described struct{ f func() }

func (d described) Error() string { d.f(); return "described" }

// misplacements are the places where a Ctx must not be used.
var misplacements = map[string]func(c *flow.Ctx, use func(c *flow.Ctx) error) error{
	"in a step": func(c *flow.Ctx, use func(c *flow.Ctx) error) error {
		return second(flow.Step(c, "outer", func(context.Context) (int, error) { return 1, use(c) },
			flow.Policy{Retries: 3}))
	},
	"in a step that ignores the error": func(c *flow.Ctx, use func(c *flow.Ctx) error) error {
		_, _ = flow.Step(c, "outer", func(context.Context) (int, error) { _ = use(c); return 1, nil })
		return nil
	},
	"in the encoding of a result": func(c *flow.Ctx, use func(c *flow.Ctx) error) error {
		return second(flow.Step(c, "outer", func(context.Context) (encoded, error) {
			return encoded{func() { _ = use(c) }}, nil
		}))
	},
	"in the text of an error": func(c *flow.Ctx, use func(c *flow.Ctx) error) error {
		return second(flow.Step(c, "outer", func(context.Context) (int, error) {
			return 1, described{func() { _ = use(c) }}
		}))
	},
	"in a compensation": func(c *flow.Ctx, use func(c *flow.Ctx) error) error {
		c.Defer("outer", func(context.Context) error { _ = use(c); return nil })
		return errors.New("it fails")
	},
	"in the compensation of a branch": func(c *flow.Ctx, use func(c *flow.Ctx) error) error {
		return flow.All(c, func(b *flow.Ctx) error {
			b.Defer("outer", func(context.Context) error { return use(b) })
			return errors.New("it fails")
		})
	},
	"in branches": func(c *flow.Ctx, use func(c *flow.Ctx) error) error {
		return flow.All(c, func(*flow.Ctx) error { return use(c) }, func(*flow.Ctx) error { return use(c) })
	},
	"in the step of a branch": func(c *flow.Ctx, use func(c *flow.Ctx) error) error {
		return flow.All(c, func(b *flow.Ctx) error {
			return second(flow.Step(b, "outer", func(context.Context) (int, error) { return 1, use(c) }))
		})
	},
	"after the end of its branch": func(c *flow.Ctx, use func(c *flow.Ctx) error) error {
		var branch *flow.Ctx
		_ = flow.All(c, func(b *flow.Ctx) error { branch = b; return nil })
		return use(branch)
	},
}

// M2: a misplaced Ctx holds the run before anything is stored, asked or started, and the reason
// names both calls. Repaired code resumes the run.
func TestM2AMisplacedCtxHoldsTheRun(t *testing.T) {
	for where, misplace := range misplacements {
		for call, use := range uses {
			t.Run(where+"/"+call, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					s := memory.New()
					h := serve(t, s, flow.New("f", func(c *flow.Ctx, _ string) (string, error) {
						return "done", misplace(c, use)
					}))
					h.submit(lifecycle.Spec{})
					require.Regexp(t, `^\S.* is called (during|after the end of) \S.*, with the same Ctx: `, h.held())
					r := h.run()
					require.Empty(t, r.Open)
					require.Nil(t, r.Journal)
					page, err := h.Runs(t.Context(), lifecycle.Query{})
					require.NoError(t, err)
					require.Len(t, page.Runs, 1, "it has no children")
					h.stop()

					h = serve(t, s, flow.New("f", func(*flow.Ctx, string) (string, error) { return "repaired", nil }))
					require.NoError(t, h.Resume(t.Context(), "r", lifecycle.Resume{Choice: lifecycle.ChoiceRepeat}))
					require.Equal(t, "repaired", h.ended())
				})
			})
		}
	}
}

// M2: a function or branch that returns while a goroutine still calls its Ctx holds the run, since
// the call's result might not be stored in time.
func TestM2ACallThatOutlivesItsFunctionHoldsTheRun(t *testing.T) {
	leave := func(c *flow.Ctx) error {
		started := make(chan struct{})
		go func() {
			_, _ = flow.Step(c, "s", func(context.Context) (int, error) {
				close(started)
				time.Sleep(time.Second)
				return 1, nil
			})
		}()
		<-started
		return nil
	}
	for reason, f := range map[string]func(c *flow.Ctx) error{
		`the function ends during step "s" at 1`:     leave,
		`branch 1.b1 ends during step "s" at 1.b1.1`: func(c *flow.Ctx) error { return flow.All(c, leave) },
	} {
		bubble(t, func(t *testing.T) {
			h := serve(t, memory.New(), flow.New("f", func(c *flow.Ctx, _ string) (string, error) {
				return "done", f(c)
			}))
			h.submit(lifecycle.Spec{})
			require.Contains(t, h.held(), reason)
			time.Sleep(time.Minute)
			require.Nil(t, h.run().Journal)
		})
	}
}

// M1: a loop that ignores errors ends, whatever it calls and whatever ended the turn; so do its
// branches. The node then executes other runs.
func TestM1ALoopThatIgnoresErrorsEnds(t *testing.T) {
	ends := map[string]func(c *flow.Ctx){
		"a sleep":   func(c *flow.Ctx) { _ = c.Sleep(1000 * time.Hour) },
		"an answer": func(c *flow.Ctx) { _, _ = flow.Ask[string](c, "first", ask("?")) },
		"a failure": func(c *flow.Ctx) { _ = stepOf(math.NaN())(c) },
		"a hold": func(c *flow.Ctx) {
			_, _ = flow.Step(c, "s", func(context.Context) (int, error) { return 0, engine.Hold("", "held") })
		},
		"a cancel": func(c *flow.Ctx) { <-c.Context().Done() },
		"a misplaced Ctx": func(c *flow.Ctx) {
			_, _ = flow.Step(c, "s", func(context.Context) (int, error) { return 1, c.Sleep(0) })
		},
	}
	for why, end := range ends {
		for call, use := range uses {
			t.Run(why+"/"+call, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					var made atomic.Int64
					loop := func(c *flow.Ctx) error {
						for made.Add(1) < 1e6 {
							_ = use(c)
						}
						return nil
					}
					h := serve(t, memory.New(), flow.New("f", func(c *flow.Ctx, in string) (string, error) {
						switch {
						case strings.HasPrefix(in, "healthy"):
							return in, nil
						case in == "branches":
							return "", flow.All(c, func(c *flow.Ctx) error { end(c); return loop(c) },
								func(c *flow.Ctx) error { end(c); return loop(c) })
						}
						end(c)
						return "", loop(c)
					}))
					for _, prompt := range []string{"loop", "branches"} {
						_, err := h.Submit(t.Context(), lifecycle.Spec{ID: prompt, Prompt: prompt})
						require.NoError(t, err)
						synctest.Wait()
						if why != "a failure" {
							require.NoError(t, h.Cancel(t.Context(), prompt, "enough"))
						}
					}
					h.submit(lifecycle.Spec{Prompt: "healthy"})
					require.Equal(t, "healthy", h.ended())
					require.Less(t, made.Load(), int64(10_000))
				})
			})
		}
	}
}

// M1: a thousand calls after the end of a turn return its error, and the next one ends the goroutine.
func TestM1HowManyCallsAreRefused(t *testing.T) {
	made := 0
	_, err := new(desk).turn(t, func(c *flow.Ctx, _ string) (string, error) {
		for err := c.Sleep(time.Hour); made < 10_000; made++ {
			require.ErrorIs(t, err, flow.ErrTurnOver)
			err = c.Sleep(time.Hour)
		}
		return "", nil
	})
	require.NoError(t, err)
	require.Equal(t, 1000, made)
}
