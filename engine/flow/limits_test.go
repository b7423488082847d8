package flow_test

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// M1: the longest times do not overflow.
func TestM1TheLongestTimes(t *testing.T) {
	for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - time.Microsecond} {
		synctest.Test(t, func(t *testing.T) {
			o, err := new(desk).turn(t, func(c *flow.Ctx, _ string) (string, error) { return "", c.Sleep(d) })
			require.NoError(t, err)
			require.WithinDuration(t, time.Now().Add(d), o.Sleep, time.Microsecond)
		})
	}
	for _, p := range []flow.Policy{{Backoff: math.MaxInt64}, {Backoff: 1 << 40, MaxBackoff: math.MaxInt64},
		{Backoff: -time.Hour}, {Backoff: time.Second, MaxBackoff: -1}} {
		synctest.Test(t, func(t *testing.T) { // a bubble's clock ends in 2262
			p.Retries = 70
			ctx, cancel := context.WithTimeout(t.Context(), 100*365*24*time.Hour)
			defer cancel()
			var tries []time.Time
			_, err := flow.New("f", func(c *flow.Ctx, _ string) (string, error) {
				return flow.Step(c, "s", func(context.Context) (string, error) {
					tries = append(tries, time.Now())
					return "", errors.New("no")
				}, p)
			}).RunTurn(ctx, engine.Turn{RunID: "r"}, &desk{})
			require.Error(t, err)
			for i := 1; i < len(tries); i++ {
				require.GreaterOrEqual(t, tries[i].Sub(tries[i-1]), time.Second)
			}
		})
	}
}

// M1: a try that takes too long has a deadline error, in its context and in derived ones; a try in
// a turn that ends has not.
func TestM1ATryThatTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := func(c *flow.Ctx, _ string) (string, error) {
			_, err := flow.Step(c, "s", func(ctx context.Context) (string, error) {
				require.NoError(t, ctx.Err())
				derived, cancel := context.WithCancel(ctx)
				defer cancel()
				<-derived.Done()
				require.Equal(t, derived.Err(), ctx.Err())
				require.ErrorIs(t, context.Cause(derived), ctx.Err())
				return "", derived.Err()
			}, flow.Policy{Timeout: time.Minute})
			return "", err
		}
		_, err := new(desk).turn(t, f)
		require.EqualError(t, err, "step s: context deadline exceeded")
	})
}

// J: usage reported by steps is added to the turn once each, and a budget holds the run.
func TestM1StepsReportTheirUsage(t *testing.T) {
	require.Error(t, flow.AddUsage(t.Context(), engine.Usage{}))
	bubble(t, func(t *testing.T) {
		agent := flow.New("f", func(c *flow.Ctx, _ string) (string, error) {
			for _, name := range []string{"a", "b"} {
				if _, err := flow.Step(c, name, func(ctx context.Context) (int, error) {
					return 1, flow.AddUsage(ctx, engine.Usage{InputTokens: 40, OutputTokens: 20, CostUSD: 0.25})
				}); err != nil {
					return "", err
				}
				if _, err := flow.Ask[string](c, name, ask("?")); err != nil {
					return "", err
				}
			}
			return "done", nil
		})
		h := serve(t, memory.New(), agent)
		h.submit(lifecycle.Spec{Budget: lifecycle.Budget{Tokens: 100}})
		h.reply(1, "x")
		h.reply(2, "x")
		r := h.run()
		require.NotNil(t, r.Block, "%s %+v", r.State, r.Error)
		require.Equal(t, store.BlockHeld, r.Block.Kind)
		used, err := h.Usage(h.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, int64(80), used.Total.InputTokens)
		require.Equal(t, int64(40), used.Total.OutputTokens)
	})
}

// J13: reported usage never lowers the run's usage, and sums never overflow: either would defeat
// a budget.
func TestJ13UsageOnlyGrows(t *testing.T) {
	agent := flow.New("f", func(c *flow.Ctx, _ string) (string, error) {
		return flow.Step(c, "s", func(ctx context.Context) (string, error) {
			return "", errors.Join(
				flow.AddUsage(ctx, engine.Usage{InputTokens: math.MaxInt64, OutputTokens: 7, CostUSD: 1}),
				flow.AddUsage(ctx, engine.Usage{InputTokens: 1, OutputTokens: -5, CostUSD: math.NaN()}),
				flow.AddUsage(ctx, engine.Usage{InputTokens: math.MaxInt64, OutputTokens: 1, CostUSD: -3}))
		})
	})
	o, err := agent.RunTurn(t.Context(), engine.Turn{RunID: "r"}, &desk{})
	require.NoError(t, err)
	require.Equal(t, engine.Usage{InputTokens: math.MaxInt64, OutputTokens: 8, CostUSD: 1}, o.Usage)
}

// M2: an answer to a form or approval that the code has since changed holds the run; with the
// original code it continues.
func TestM2AnAnswerToAChangedQuestionHoldsTheRun(t *testing.T) {
	pay := func(amount int) func(c *flow.Ctx, _ string) (string, error) {
		return func(c *flow.Ctx, _ string) (string, error) {
			q, err := engine.ApprovalOf("Pay?", "pay", map[string]int{"amount": amount})
			require.NoError(t, err)
			a, err := flow.Ask[engine.Answer](c, "pay", q)
			return string(a.Arguments), err
		}
	}
	bubble(t, func(t *testing.T) {
		s := memory.New()
		h := serve(t, s, flow.New("f", pay(10)))
		h.submit(lifecycle.Spec{})
		h.stop()
		h = serve(t, s, flow.New("f", pay(10_000)))
		_, err := h.Reply(h.Context(), "r", lifecycle.Reply{ID: 1, Decision: lifecycle.Approve})
		require.NoError(t, err)
		require.Contains(t, h.held(), `the run has an answer to ask "pay" with other content than the code asks at 1`)
		h.stop()
		h = serve(t, s, flow.New("f", pay(10)))
		require.NoError(t, h.Resume(h.Context(), "r", lifecycle.Resume{Choice: lifecycle.ChoiceRepeat}))
		require.JSONEq(t, `{"amount":10}`, h.ended())
	})
}

// N11 M2: an answer is used only for the question that was asked. If the code asks another one, the
// run is held with an error that names both, until the code fits again.
func TestN11AnAnswerIsOfTheQuestionThatWasAsked(t *testing.T) {
	first := engine.Question{Kind: engine.ChooseOne, Prompt: "Deploy to staging?",
		Options: []engine.Option{{Label: "Yes", Value: "yes"}, {Label: "No", Value: "no"}}}
	prompt, options, kind := first, first, first
	prompt.Prompt = "Deploy to production?"
	options.Options = []engine.Option{{Label: "No", Value: "yes"}}
	kind.Kind = engine.OpenText
	for name, other := range map[string]engine.Question{"prompt": prompt, "options": options, "kind": kind} {
		for _, kept := range []bool{false, true} { // whether the journal already has the answer
			for _, several := range []bool{false, true} {
				bubble(t, func(t *testing.T) {
					var asked atomic.Pointer[engine.Question]
					asked.Store(&first)
					h := serve(t, memory.New(), flow.New("f", func(c *flow.Ctx, _ string) (string, error) {
						qs := []engine.Question{*asked.Load()}
						if several {
							qs = append(qs, ask("And?"))
						}
						answers, err := flow.AskAll(c, "q", engine.Rule{}, qs...)
						if err != nil {
							return "", err
						}
						_, err = flow.Ask[string](c, "last", ask("Sure?"))
						return answers[0].Text, err
					}))
					h.submit(lifecycle.Spec{})
					next := 2
					if several {
						h.reply(2, "and")
						next++
					}
					if kept {
						h.reply(1, "yes")
						asked.Store(&other)
						h.reply(next, "sure")
					} else {
						asked.Store(&other)
						h.reply(1, "yes")
					}
					why := h.held()
					require.Contains(t, why, `an answer to ask "q" with other content than the code asks at 1`, name)
					require.Contains(t, why, other.Prompt, name)
					if !kept {
						require.Contains(t, why, `question 1 "Deploy to staging?" had the digest `, name)
					}
					asked.Store(&first)
					time.Sleep(2 * time.Hour)
					if !kept {
						h.reply(next, "sure")
					}
					require.Equal(t, "yes", h.ended(), name)
				})
			}
		}
	}
}

// M2: an answer in an earlier release's journal does not name its question, and is used.
func TestM2AnAnswerOfAnEarlierReleaseIsUsed(t *testing.T) {
	d := &desk{entries: []engine.JournalEntry{{Path: "1", Name: "q", Type: "ask",
		Body: []byte(`[{"interaction_id":1,"resolution_mode":"user_reply","text":"yes","accepted_at":"2026-01-01T00:00:00Z"}]`)}}}
	f := func(c *flow.Ctx, _ string) (string, error) { return flow.Ask[string](c, "q", ask("Go?")) }
	unread := pastQuestion{err: errors.New("it is read")}
	o, err := flow.New("f", f).RunTurn(t.Context(), engine.Turn{RunID: "r", History: unread}, d)
	require.NoError(t, err)
	require.Equal(t, "yes", o.FinalText)
}

// N2: a function with an invalid question is held by a host that holds runs, without compensation,
// and continues after the code is repaired. Another host fails the run.
func TestN2AFunctionThatAsksWhatCannotBeAsked(t *testing.T) {
	for _, hold := range []lifecycle.HoldPolicy{"", lifecycle.HoldOff} { // the host of these tests holds runs
		bubble(t, func(t *testing.T) {
			var undone atomic.Int32
			var schema atomic.Value
			schema.Store(`{"type":"objekt"}`)
			h := serve(t, memory.New(), flow.New("f", func(c *flow.Ctx, _ string) (string, error) {
				c.Defer("undo", func(context.Context) error { undone.Add(1); return nil })
				q := ask("How many?")
				q.Schema = []byte(schema.Load().(string))
				a, err := flow.Ask[engine.Answer](c, "q", q)
				return string(a.Value), err
			}))
			h.submit(lifecycle.Spec{Hold: hold})
			if hold == lifecycle.HoldOff {
				require.Equal(t, lifecycle.StateFailed, h.run().State)
				require.Contains(t, h.run().Error.Message, `question "q" at 1 is not asked`)
				require.EqualValues(t, 1, undone.Load())
				return
			}
			require.Contains(t, h.held(), `question "q" at 1 is not asked`)
			schema.Store(`{"type":"integer"}`)
			time.Sleep(2 * time.Hour)
			_, err := h.Reply(t.Context(), "r", lifecycle.Reply{ID: 1, Value: []byte("3")})
			require.NoError(t, err)
			require.Equal(t, "3", h.ended())
			require.Zero(t, undone.Load())
		})
	}
}

// pastQuestion is the history of a run that has asked question 3 only.
type pastQuestion struct {
	record engine.Record
	err    error
}

func (p pastQuestion) Records(context.Context) ([]engine.Record, error) {
	return []engine.Record{p.record}, p.err
}

func (p pastQuestion) Record(_ context.Context, question int) (engine.Record, error) {
	if question != 3 {
		return engine.Record{}, errors.New("not question 3")
	}
	return p.record, p.err
}

// N11: a fork inherits the question with the answer; a question that cannot be read ends the turn.
func TestN11TheQuestionOfAnAnswerIsRead(t *testing.T) {
	turn := engine.Turn{RunID: "r", Answers: []engine.Answer{{ID: 3, Ref: "flow 1 0 q", Text: "yes"}}}
	asked := ask("Old?")
	asked.ID, asked.Ref = 3, "flow 1 0 q"
	elsewhere := asked
	elsewhere.Ref = "flow 2 0 q"
	away := errors.New("away")
	f := flow.New("f", func(c *flow.Ctx, prompt string) (string, error) {
		return flow.Ask[string](c, "q", ask(prompt))
	})
	for name, c := range map[string]struct {
		prompt    string
		inherited []engine.Record
		past      engine.Question
		err       error
		says      string
	}{
		"inherited":     {"New?", []engine.Record{{Question: asked}}, asked, away, `question 3 "Old?" had the digest`},
		"the same":      {"Old?", []engine.Record{{Question: asked}}, asked, away, ""},
		"read":          {"New?", nil, asked, nil, `question 3 "Old?" had the digest`},
		"read the same": {"Old?", nil, asked, nil, ""},
		"another place": {"New?", nil, elsewhere, nil, ""},
		"away":          {"Old?", nil, asked, away, "away"},
	} {
		turn.Prompt, turn.Inherited = c.prompt, c.inherited
		turn.History = pastQuestion{engine.Record{Question: c.past}, c.err}
		o, err := f.RunTurn(t.Context(), turn, &desk{})
		if c.says != "" {
			require.ErrorContains(t, err, c.says, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, "yes", o.FinalText, name)
	}
}
