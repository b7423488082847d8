package lifecycle

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// eachTurn is an agent whose turns take a second, use so many tokens, and do what turn does.
func eachTurn(tokens int64, turn func(in engine.Turn) (engine.Outcome, error)) agent {
	return agent{turn: func(_ context.Context, in engine.Turn) (engine.Outcome, error) {
		time.Sleep(time.Second)
		o, err := turn(in)
		o.Usage = engine.Usage{InputTokens: tokens - tokens/4, OutputTokens: tokens / 4}
		return o, err
	}}
}

// asksAlways asks in each turn but the last.
func asksAlways(last int) func(in engine.Turn) (engine.Outcome, error) {
	return func(in engine.Turn) (engine.Outcome, error) {
		if in.Attempt >= last {
			return finished(), nil
		}
		return asking("Go on?"), nil
	}
}

// heldForBudget is the block of a run that has used up its budget.
func heldForBudget(reason string) *store.Block {
	return &store.Block{Kind: store.BlockHeld, Code: fsm.CodeBudgetExhausted,
		Reason: "the budget is used up: " + reason, Choices: []Choice{ChoiceRaise, ChoiceEnd}}
}

// J13, J5: a turn whose engine was not called uses nothing; and a run that was held for another
// reason is held for its budget as soon as that reason is gone, in the same commit.
func TestJ13OneHoldAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		var available atomic.Bool
		e := eachTurn(10, func(engine.Turn) (engine.Outcome, error) {
			return engine.Outcome{}, engine.Hold(fsm.CodeEngineFailed, "no such file")
		})
		e.profile = func() (engine.Profile, error) {
			if !available.Load() {
				return engine.Profile{}, context.DeadlineExceeded
			}
			return engine.Profile{Kind: fsm.ProfileResumable}, nil
		}
		lc, stop := serve(t, Config{Store: s, Engine: e, Forgiving: true})
		defer stop()
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", Budget: Budget{Turns: 1}})
		require.NoError(t, err)
		pass(10 * time.Second)
		run := in(t, lc.Client, "r", fsm.StateQueued)
		require.Equal(t, fsm.CodeEngineUnavailable, run.Block.Code)
		require.Equal(t, Budget{}, run.Budget.Used)

		available.Store(true)
		pass(2 * time.Minute)
		run = in(t, lc.Client, "r", fsm.StateQueued)
		require.Equal(t, fsm.CodeEngineFailed, run.Block.Code)
		require.Equal(t, Budget{Turns: 1, Tokens: 10}, run.Budget.Used)
		require.NoError(t, lc.Resume(t.Context(), "r", Resume{Choice: ChoiceRepeat, Version: run.Version}))
		after := in(t, lc.Client, "r", fsm.StateQueued)
		require.Equal(t, run.Version+1, after.Version)
		require.Equal(t, heldForBudget("1 turn and 10 tokens of 1 turn"), after.Block)
	})
}

// J13, E4: a turn that was lost with its worker counts, though its tokens are unknown. The run is
// held when it is recovered, survives the end of its host, and continues on another one.
func TestJ13ALostTurnCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		c := clientOf(t, s)
		_, err := c.Submit(t.Context(), Spec{ID: "r", Prompt: "x", Repeatable: true, Budget: Budget{Turns: 1}})
		require.NoError(t, err)
		dies(t, s, 1)
		_, stop := serve(t, Config{Store: s, Engine: agent{}})
		run := in(t, c, "r", fsm.StateQueued)
		require.Equal(t, heldForBudget("1 turn of 1 turn"), run.Block)
		stop()
		require.NoError(t, c.Resume(t.Context(), "r", Resume{Choice: ChoiceRaise, Budget: Budget{Turns: 2}}))
		_, stop = serve(t, Config{Store: s, Engine: agent{}})
		defer stop()
		pass(time.Minute)
		in(t, c, "r", fsm.StateSucceeded)
	})
}

// J13: a decision that does not fit is refused, with the invalid argument.
func TestJ13RaisingIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Engine: eachTurn(10, asksAlways(9))})
		defer stop()
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", Budget: Budget{Tokens: 5, Turns: 1}})
		require.NoError(t, err)
		pass(10 * time.Second)
		reply(t, lc.Client, "r", 1, "yes")
		run := in(t, lc.Client, "r", fsm.StateQueued)
		for want, r := range map[string]Resume{
			`resume.Budget is nothing, want a budget that is not used up: the run has used 1 turn and 10 tokens`: {
				Choice: ChoiceRaise},
			`resume.Budget is 10 tokens, want a budget that is not used up`: {Choice: ChoiceRaise,
				Budget: Budget{Tokens: 10}},
			`resume.Budget is 100 turns, want a budget that is not used up`: {Choice: ChoiceRaise,
				Budget: Budget{Turns: 100}},
			`resume.Budget is with Turns -1, want 1 to 1000000`: {Choice: ChoiceRaise,
				Budget: Budget{Turns: -1}},
			`resume.Budget is with Tokens -1, want 1 to 8796093022208`: {Choice: ChoiceRaise,
				Budget: Budget{Tokens: -1}},
			`resume.Budget is 9 turns, want none unless Choice is "raise"`: {Choice: ChoiceEnd,
				Budget: Budget{Turns: 9}},
			`resume.Choice is "repeat", want one of ["raise" "end"]`: {Choice: ChoiceRepeat},
			`resume.Choice is "", want one of ["raise" "end"]`:       {},
		} {
			err := lc.Resume(t.Context(), "r", r)
			require.ErrorIs(t, err, ErrInvalidArgument)
			require.ErrorContains(t, err, want)
		}
		require.Equal(t, run, in(t, lc.Client, "r", fsm.StateQueued))
		require.NoError(t, lc.Resume(t.Context(), "r", Resume{Choice: ChoiceRaise, Budget: Budget{Tokens: 11,
			Turns: 2}}))
	})
}

func reply(tb testing.TB, c *Client, id string, interaction int, text string) {
	tb.Helper()
	_, err := c.Reply(tb.Context(), id, Reply{ID: interaction, Text: text})
	require.NoError(tb, err)
}

// J13: the largest limits are allowed.
func TestJ13LimitsOfABudget(t *testing.T) {
	largest := Budget{Turns: MaxBudgetTurns, Tokens: MaxBudgetTokens}
	require.Nil(t, validateBudget(largest))
}
