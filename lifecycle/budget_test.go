package lifecycle

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/fcmp"
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

// J13: a budget of tokens is judged when a reply would let the next turn start. The answer is kept,
// the run is in the operators' inbox, a person's time counts nowhere, and of two who raise the
// budget one wins.
func TestJ13ASpentBudgetHoldsTheRunWithItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answers []string
		lc, stop := serve(t, Config{Engine: eachTurn(60, func(in engine.Turn) (engine.Outcome, error) {
			for _, a := range in.Answers {
				answers = append(answers, a.Text)
			}
			return asksAlways(3)(in)
		})})
		defer stop()
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", Budget: Budget{Tokens: 100}})
		require.NoError(t, err)
		pass(time.Hour)
		reply(t, lc.Client, "r", 1, "first")
		pass(time.Hour)
		run := in(t, lc.Client, "r", fsm.StateWaitingUser)
		require.False(t, run.Held(), "it is judged when a turn would start")
		require.Equal(t, &store.RunBudget{Limit: Budget{Tokens: 100}, Used: Budget{Turns: 2, Tokens: 120}}, run.Budget)

		reply(t, lc.Client, "r", 2, "second")
		pass(time.Hour)
		run = in(t, lc.Client, "r", fsm.StateQueued)
		require.Equal(t, heldForBudget("2 turns and 120 tokens of 100 tokens"), run.Block)
		require.Equal(t, []string{"first"}, answers)
		page, err := lc.Runs(t.Context(), Query{Held: true})
		require.NoError(t, err)
		require.Len(t, page.Runs, 1)
		stats, err := lc.Stats(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, stats.Held)

		require.NoError(t, lc.Resume(t.Context(), "r",
			Resume{Choice: ChoiceRaise, Version: run.Version, Actor: Actor{ID: "ada"}, Budget: Budget{Tokens: 121}}))
		require.ErrorIs(t, lc.Resume(t.Context(), "r",
			Resume{Choice: ChoiceRaise, Version: run.Version, Actor: Actor{ID: "ben"}, Budget: Budget{Tokens: 1000}}),
			ErrRunChanged)
		pass(time.Minute)
		run = in(t, lc.Client, "r", fsm.StateSucceeded)
		require.Equal(t, []string{"first", "second"}, answers)
		require.Equal(t, &store.RunBudget{Limit: Budget{Tokens: 121}, Used: Budget{Turns: 3, Tokens: 180}}, run.Budget,
			"a completion stands")
		u, err := lc.Usage(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, run.Budget.Used.Tokens, u.Total.InputTokens+u.Total.OutputTokens)
	})
}

// J13: a budget of turns counts retries, in automatic mode too. The run is held instead of waiting
// for its retry, and keeps its not-before time.
func TestJ13TurnsThatAreTriedAgainCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Retry: &Retry{Max: 5, Backoff: time.Hour, MaxBackoff: time.Hour},
			Engine: eachTurn(1, func(in engine.Turn) (engine.Outcome, error) {
				if in.Attempt < 3 {
					return engine.Outcome{}, engine.Later(0, "overloaded")
				}
				return finished(), nil
			})})
		defer stop()
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", Mode: Auto, Budget: Budget{Turns: 2}})
		require.NoError(t, err)
		pass(time.Hour + 10*time.Second)
		run := in(t, lc.Client, "r", fsm.StateQueued)
		require.Equal(t, heldForBudget("2 turns and 2 tokens of 2 turns"), run.Block)
		pass(24 * time.Hour)
		require.Equal(t, run, in(t, lc.Client, "r", fsm.StateQueued), "it does not go on by itself")
		require.NoError(t, lc.Resume(t.Context(), "r", Resume{Choice: ChoiceRaise, Budget: Budget{Turns: 3}}))
		pass(10 * time.Second)
		in(t, lc.Client, "r", fsm.StateSucceeded)
		require.Equal(t, []string{
			"conversation.started", "queued>running", "turn.yielded", "running>queued", "queued>running",
			"turn.yielded",
			"running>queued", "run.blocked", "run.unblocked", "queued>running", "running>succeeded",
		}, summary(t, lc.Client, "r"))
	})
}

// J13: an automatic decision does not continue a run that has used up its budget, and no deadline
// ends the hold.
func TestJ13AnAutomaticDecisionIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Engine: eachTurn(10, asksAlways(2))})
		defer stop()
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", AutoDecide: true, SessionTimeout: time.Minute,
			Budget: Budget{Tokens: 10}})
		require.NoError(t, err)
		pass(2 * time.Minute)
		run := in(t, lc.Client, "r", fsm.StateQueued)
		require.Equal(t, heldForBudget("1 turn and 10 tokens of 10 tokens"), run.Block)
		require.Equal(t, 1, run.AutoDecisions)
		require.NotNil(t, run.Answer.Auto)
		pass(time.Hour)
		require.Equal(t, run, in(t, lc.Client, "r", fsm.StateQueued))
		require.NoError(t, lc.Resume(t.Context(), "r", Resume{Choice: ChoiceRaise, Budget: Budget{Tokens: 11}}))
		pass(10 * time.Second)
		in(t, lc.Client, "r", fsm.StateSucceeded)
	})
}

// J13: an operator who does not raise the budget ends the run, which fails with a special code, or
// cancels it.
func TestJ13ARunIsEndedForItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Engine: eachTurn(10, asksAlways(9))})
		defer stop()
		for _, id := range []string{"ended", "canceled"} {
			_, err := lc.Submit(t.Context(), Spec{ID: id, Prompt: "x", Budget: Budget{Tokens: 5, Turns: 100}})
			require.NoError(t, err)
			pass(10 * time.Second)
			reply(t, lc.Client, id, 1, "yes")
		}
		require.NoError(t, lc.Resume(t.Context(), "ended", Resume{Choice: ChoiceEnd, Actor: Actor{ID: "ada"}}))
		require.Equal(t, &Failure{Code: fsm.CodeBudgetExhausted,
			Message: "the budget is used up: 1 turn and 10 tokens " +
				"of 100 turns and 5 tokens (given up by ada)"}, in(t, lc.Client, "ended", fsm.StateFailed).Error)
		require.NoError(t, lc.Cancel(t.Context(), "canceled", ""))
		in(t, lc.Client, "canceled", fsm.StateCanceled)
	})
}

// J13: a resident process cannot be held. Its run fails instead of asking what no turn will read;
// the last turn's completion would have stood.
func TestJ13AStickyRunFailsInsteadOfAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := eachTurn(10, asksAlways(2))
		e.profile = func() (engine.Profile, error) { return engine.Profile{Kind: fsm.ProfileStickyProcess}, nil }
		lc, stop := serve(t, Config{Engine: e})
		defer stop()
		for id, turns := range map[string]int{"fails": 1, "completes": 2} {
			_, err := lc.Submit(t.Context(), Spec{ID: id, Prompt: "x", Budget: Budget{Turns: turns}})
			require.NoError(t, err)
		}
		pass(10 * time.Second)
		run := in(t, lc.Client, "fails", fsm.StateFailed)
		require.Equal(t, &Failure{Code: fsm.CodeBudgetExhausted,
			Message: "the budget is used up: 1 turn and 10 tokens of 1 turn"}, run.Error)
		require.False(t, run.Slot)
		reply(t, lc.Client, "completes", 1, "yes")
		pass(10 * time.Second)
		in(t, lc.Client, "completes", fsm.StateSucceeded)
	})
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

// summary lists the types of the run's events, and the changes of state.
func summary(tb testing.TB, c *Client, id string) (all []string) {
	tb.Helper()
	for e, err := range c.Events(tb.Context(), id, 0) {
		require.NoError(tb, err)
		var data struct{ From, To string }
		require.NoError(tb, json.Unmarshal(e.Data, &data))
		switch {
		case data.To != "":
			all = append(all, data.From+">"+data.To)
		case e.Type != fcmp.TypeMessageFinal:
			all = append(all, e.Type)
		}
	}
	return all
}

// J13: the largest limits are allowed.
func TestJ13LimitsOfABudget(t *testing.T) {
	largest := Budget{Turns: MaxBudgetTurns, Tokens: MaxBudgetTokens}
	require.Nil(t, validateBudget(largest))
}
