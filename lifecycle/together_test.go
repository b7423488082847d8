package lifecycle

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// asker is an engine that asks the questions in its first turn, and succeeds in its second with the
// answers that it got.
func asker(rule engine.Rule, questions ...engine.Question) engine.Engine {
	return engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		if len(t.Answers) == 0 {
			o := engine.AskAll(questions...)
			o.Rule = rule
			return o, nil
		}
		var texts []string
		for _, a := range t.Answers {
			texts = append(texts, a.Text)
		}
		return engine.Done(strings.Join(texts, ",")), nil
	})
}

func questionsNamed(prompts ...string) (all []engine.Question) {
	for _, prompt := range prompts {
		all = append(all, engine.Question{Kind: engine.OpenText, Prompt: prompt})
	}
	return all
}

// K2, K5, K6: each of several questions has its own audience, and Authorize sees the answered one.
func TestK2AReplyConcernsOneOfSeveralQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		questions := questionsNamed("Budget?", "Contract?")
		questions[0].To, questions[1].To = &Audience{Users: []string{"fay"}}, &Audience{Users: []string{"lea"}}
		var g guard
		s := newStore(t)
		lc, stop := serve(t, Config{Store: s, Engine: asker(engine.Rule{}, questions...), Authorize: g.authorize})
		defer stop()
		submit(t, lc, "r")
		synctest.Wait()
		g.drain()
		reply := func(id int, who string) error {
			return second(lc.Reply(t.Context(), "r", Reply{ID: id, Text: who, Actor: Actor{ID: who}}))
		}
		require.ErrorIs(t, reply(2, "fay"), ErrNotAsked)
		require.NoError(t, reply(2, "lea"))
		require.ErrorIs(t, reply(1, "lea"), ErrNotAsked)
		require.NoError(t, reply(1, "fay"))
		require.Equal(t, []string{"reply by fay of r question 2", "reply by lea of r question 2",
			"reply by lea of r question 1", "reply by fay of r question 1"}, g.drain())
		synctest.Wait()
		run, err := lc.Get(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, "fay,lea", run.FinalText)
		requireSoundLog(t, s, "r")
	})
}

// K1, I11: questions that are too large together are omitted from the end, with a warning; a single
// remaining one is asked as a single question.
func TestK1QuestionsAreBoundedTogether(t *testing.T) {
	large := engine.Question{Kind: engine.OpenText, Prompt: strings.Repeat("p", 30<<10),
		Context: strings.Repeat("c", 30<<10)}
	huge := large
	for range 60 {
		huge.Options = append(huge.Options, engine.Option{Label: strings.Repeat("l", 1<<10),
			Value: strings.Repeat("v", 1<<10)})
	}
	for name, c := range map[string]struct {
		asked []engine.Question
		left  int
	}{
		"ten of which four fit": {[]engine.Question{large, large, large, large, large, large, large, large, large,
			large}, 4},
		"two of which one fits": {[]engine.Question{huge, huge}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t)
				lc, stop := serve(t, Config{Store: s, Engine: asker(engine.Rule{}, c.asked...)})
				defer stop()
				submit(t, lc, "r")
				synctest.Wait()
				run, err := lc.Get(t.Context(), "r")
				require.NoError(t, err)
				require.Len(t, run.Open, c.left)
				require.Equal(t, c.left == 1, run.Together == nil)
				require.Contains(t, run.Warnings, fsm.WarnAskUserSurplus)
				requireSoundLog(t, s, "r")
			})
		})
	}
}

// unreadable is a store whose settled interactions cannot be read for a time.
type unreadable struct {
	*memory.Store

	failures atomic.Int32
}

func (s *unreadable) Interaction(ctx context.Context, id string, number int) (interaction.Record, error) {
	if s.failures.Add(-1) >= 0 {
		return interaction.Record{}, errors.New("the disk is slow today")
	}
	return s.Store.Interaction(ctx, id, number)
}

// K1, E5: a turn whose answers cannot be read now reads them again, and continues with all of them.
// A shutdown in between returns the turn; no answer is lost.
func TestK1AnswersAreReadUntilTheyAreThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &unreadable{Store: newStore(t)}
		cfg := Config{Store: s, Engine: asker(engine.Rule{}, questionsNamed("a", "b")...)}
		lc, stop := serve(t, cfg)
		submit(t, lc, "r")
		synctest.Wait()
		s.failures.Store(1000)
		for _, id := range []int{2, 1} {
			_, err := lc.Reply(t.Context(), "r", Reply{ID: id, Text: map[int]string{1: "one", 2: "two"}[id]})
			require.NoError(t, err)
		}
		synctest.Wait()
		run, err := lc.Get(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, fsm.StateRunning, run.State)
		stop()
		run, err = s.Run(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, fsm.StateQueued, run.State, "handed back")

		s.failures.Store(3)
		lc, stop = serve(t, cfg)
		defer stop()
		run, err = lc.Wait(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, "one,two", run.FinalText)
		requireSoundLog(t, s.Store, "r")
	})
}

// K1: the rule of a single question has no effect, and the record is a single question's.
func TestK1ASingleQuestionIsAskedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		rule := engine.Rule{Answers: 7, StopOnReject: true}
		lc, stop := serve(t, Config{Store: s, Engine: asker(rule, questionsNamed("a")...)})
		defer stop()
		submit(t, lc, "r")
		synctest.Wait()
		run, err := s.Run(t.Context(), "r")
		require.NoError(t, err)
		require.Nil(t, run.Together)
		body, err := store.Encode(run)
		require.NoError(t, err)
		require.Equal(t, byte('{'), body[0], "the first form of records, which each release reads")
		require.NotContains(t, strings.Join(wholeLog(t, s, "r"), ""), "fcmp/1.1")
	})
}

// K1, H2: a language model whose run may ask several questions writes a list of three. It continues
// once, with the three answers and their numbers. The host's policy applies to each question; a
// policy in the model's text is ignored.
func TestK1AnAgentAsksThreeByItsText(t *testing.T) {
	for _, signed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var inputs []string
			agent := model{signed, func(turn engine.Turn) string {
				inputs = append(inputs, turn.Input())
				list := "- prompt: Budget?\n  to: {users: [eve]}\n- prompt: Contract?\n- prompt: When?\n  kind: confirm"
				if len(turn.Answers) == 0 {
					return strings.TrimSpace("Three things.\n```ask_user "+turn.Nonce) + "\n" + list + "\n```"
				}
				return strings.TrimSuffix("Well.\n__SKILL_DONE__:"+turn.Nonce, ":")
			}}
			s := newStore(t)
			lc, stop := serve(t, Config{Store: s, Engine: agent})
			defer stop()
			to := &Audience{Users: []string{"fay"}}
			_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "p", MaxQuestions: 3, Ask: &AskPolicy{To: to}})
			require.NoError(t, err)
			synctest.Wait()
			run := in(t, lc.Client, "r", fsm.StateWaitingUser)
			require.Empty(t, run.Warnings)
			require.Len(t, run.Open, 3)
			for i, q := range run.Open {
				require.Equal(t, i+1, q.ID)
				require.Equal(t, to, q.To)
			}
			for _, id := range []int{3, 1, 2} {
				require.Len(t, inputs, 1)
				_, err = lc.Reply(t.Context(), "r", Reply{ID: id, Text: []string{"9", "yes", "now"}[id-1],
					Actor: Actor{ID: "fay"}})
				require.NoError(t, err)
				synctest.Wait()
			}
			run = in(t, lc.Client, "r", fsm.StateSucceeded)
			require.Equal(t, "Well.", run.FinalText)
			require.Equal(t, 2, run.Attempt)
			require.Len(t, inputs, 2)
			require.Contains(t, inputs[0], "one list of at most 3 questions")
			require.True(t, strings.HasPrefix(inputs[1], "Answer to question 1, the 1st of 3:\n9\n\n"+
				"Answer to question 2, the 2nd of 3:\nyes\n\nAnswer to question 3, the 3rd of 3:\nnow"), inputs[1])
			requireSoundLog(t, s, "r")
		})
	}
}

// K1, A1: MaxQuestions is part of the submission. One is the same as none: the spec of a run that
// asks one question keeps its digest.
func TestK1MaxQuestionsOfOneIsTheDefault(t *testing.T) {
	digest := func(n int) string {
		run, _, err := Spec{ID: "r", Prompt: "p", MaxQuestions: n}.record(noon)
		require.NoError(t, err)
		return run.SpecDigest
	}
	require.Equal(t, digest(0), digest(1))
	require.NotEqual(t, digest(0), digest(2))
	require.NotEqual(t, digest(3), digest(2))
}
