package flow_test

import (
	"context"
	"errors"
	"math"
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

// M1: a try that takes too long has the error of a deadline, in its context and in derived ones; one
// of a turn that ends has not.
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

// J: usage that steps report is the turn's, once each, and a budget holds the run.
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

// J13: no usage that a step reports lowers that of others, and no sum overflows: a budget would not
// hold the run.
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

// M2: an answer to a form or an approval that the code has changed meanwhile holds the run; with the
// code that asked it goes on.
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
