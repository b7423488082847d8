package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
)

// payer is an engine that asks one round of questions, pays when all of it was agreed to, and may
// fail afterwards. It counts the turns that it executed, and the payments.
type payer struct {
	asks        []engine.Question
	rule        engine.Rule
	turns, paid int
	fails       bool
}

func (p *payer) engine() engine.Engine {
	return engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		p.turns++
		if len(t.Answers) == 0 {
			o := engine.AskAll(p.asks...)
			o.Rule = p.rule
			return o.WithState([]byte("asked")), nil
		}
		if string(t.State()) != "asked" {
			return engine.Outcome{}, errors.New("the session is not that of the question")
		}
		p.paid++
		if p.fails {
			return engine.Outcome{}, errors.New("503")
		}
		return engine.Done("paid"), nil
	})
}

func payment() engine.Question {
	return engine.Question{Kind: interaction.Approval, Prompt: "Pay?",
		Subject: &interaction.Subject{Tool: "pay", Arguments: json.RawMessage(`{"amount":5}`)}, Ref: "call-1"}
}

// paid are the people who may decide: a and c, of whom two must agree, and never b, the submitter.
func forTwo(need int) Spec {
	return Spec{ID: "r", Prompt: "x", Submitter: "b", MaxAttempts: 2, Ask: &AskPolicy{NotSubmitter: true, Need: need,
		To: &Audience{Users: []string{"a", "c", "b"}}}}
}

func by(id string) Actor { return Actor{ID: id} }

// peopleSay has each of the people reply to question 1 of a run.
func peopleSay(tb testing.TB, lc *Lifecycle, id string, reply Reply, people ...string) {
	tb.Helper()
	for _, person := range people {
		reply.ID, reply.Actor = 1, by(person)
		_, err := lc.Reply(tb.Context(), id, reply)
		require.NoError(tb, err)
	}
	synctest.Wait()
}

// N11 B11 J1: a fork inherits no approval, and no answer that its author could not have given. It
// asks again, without a call of its engine, what its source asked, of the same people; the attempt
// does not count; and the session is branched once the people have answered.
func TestN11AForkAsksAgain(t *testing.T) {
	approve, no, yes := Reply{Decision: Approve}, Reply{Decision: Reject}, Reply{Text: "yes"}
	open := Spec{ID: "r", Prompt: "x", MaxAttempts: 2}
	confirm := engine.Question{Kind: engine.Confirm, Prompt: "Pay?"}
	for name, tc := range map[string]struct {
		ask    engine.Question
		spec   Spec
		reply  Reply
		people []string
		author Actor
		fails  bool
		at     int
	}{
		"an approval by two people":          {payment(), forTwo(2), approve, []string{"a", "c"}, by("b"), false, 1},
		"an approval by one":                 {payment(), forTwo(0), approve, []string{"a"}, by("b"), false, 1},
		"an approval by anybody":             {payment(), open, approve, []string{"a"}, by("a"), false, 1},
		"a rejected approval":                {payment(), forTwo(0), no, []string{"c"}, by("a"), false, 1},
		"a confirm for others":               {confirm, forTwo(0), yes, []string{"a"}, by("b"), false, 1},
		"a confirm, forked by nobody known":  {confirm, forTwo(0), yes, []string{"a"}, Actor{}, false, 1},
		"the end after an approval":          {payment(), forTwo(2), approve, []string{"a", "c"}, by("b"), true, 0},
		"the end after a confirm for others": {confirm, forTwo(0), yes, []string{"a"}, by("b"), true, 0},
		"the question of a run that failed":  {payment(), forTwo(2), approve, []string{"a", "c"}, by("c"), true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &payer{asks: []engine.Question{tc.ask}, fails: tc.fails}
				s := newStore(t)
				lc, stop := serve(t, Config{Store: s, Engine: p.engine()})
				defer stop()
				_, err := lc.Submit(t.Context(), tc.spec)
				require.NoError(t, err)
				synctest.Wait()
				source := in(t, lc.Client, "r", StateWaitingUser)
				peopleSay(t, lc, "r", tc.reply, tc.people...)
				require.Equal(t, 1, p.paid)
				p.fails = false

				from := "r"
				for i := range 3 { // each of these is a fork of the one before, which asks the same
					turns := p.turns
					at := At{Question: tc.at, ID: fmt.Sprint("f", i), Actor: tc.author}
					_, err := lc.Fork(t.Context(), from, at)
					require.NoError(t, err)
					_, known, err := lc.GetOrFork(t.Context(), from, at)
					require.NoError(t, err)
					require.True(t, known)
					synctest.Wait()
					fork := in(t, lc.Client, at.ID, StateWaitingUser)
					require.Equal(t, turns, p.turns, "the engine was not called")
					require.Equal(t, []any{1, 1, 1, false}, []any{fork.Attempt, fork.Yielded, fork.Interactions,
						fork.Session != nil})
					want := source.Open[0].Unasked()
					want.AskedAt, want.ID = fork.Open[0].AskedAt, 1
					require.Equal(t, want, fork.Open[0])
					requireSoundLog(t, s, at.ID)
					require.Contains(t, wholeLog(t, s, at.ID)[0], `"asks_again":1`)
					require.Contains(t, wholeLog(t, s, at.ID)[0], `"protocol_version":"fcmp/1.2"`)
					if to := source.Open[0].To; to != nil {
						reply := tc.reply
						reply.ID, reply.Actor = 1, by("b")
						_, err = lc.Reply(t.Context(), at.ID, reply)
						require.ErrorIs(t, err, ErrNotAsked)
					}
					inherited, err := lc.Inherited(t.Context(), at.ID)
					require.NoError(t, err)
					require.Empty(t, inherited)
					paid := p.paid
					peopleSay(t, lc, at.ID, tc.reply, tc.people...)
					require.Equal(t, paid+1, p.paid)
					in(t, lc.Client, at.ID, StateSucceeded)
					requireSoundLog(t, s, at.ID)
					from, tc.at = at.ID, 1
				}
			})
		})
	}
}

// N11 J6: the answer to a question for everybody is inherited, and so is an answer that the author
// could have given; a superseded sibling has none.
func TestN11WhatIsInheritedAsBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &payer{asks: []engine.Question{{Kind: engine.Confirm, Prompt: "Pay?"}}}
		lc, stop := serve(t, Config{Store: newStore(t), Engine: p.engine()})
		defer stop()
		spec := forTwo(0)
		_, err := lc.Submit(t.Context(), spec)
		require.NoError(t, err)
		synctest.Wait()
		peopleSay(t, lc, "r", Reply{Text: "yes"}, "a")
		_, err = lc.Fork(t.Context(), "r", At{Question: 1, ID: "f", Actor: by("c")})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, "paid", in(t, lc.Client, "f", StateSucceeded).FinalText)

		t.Log("but not by the author of a fork of that fork who could not have given it")
		_, err = lc.Fork(t.Context(), "f", At{Answer: Reply{Text: "once more"}, ID: "g", Actor: by("b")})
		require.NoError(t, err, "a message is no answer to a question")
		synctest.Wait()
		in(t, lc.Client, "g", StateSucceeded)
		p.fails = true
		_, err = lc.Fork(t.Context(), "r", At{Question: 1, ID: "h", Actor: by("c")})
		require.NoError(t, err)
		synctest.Wait()
		in(t, lc.Client, "h", StateFailed)
		for _, author := range []string{"b", "c"} {
			fork, err := lc.Fork(t.Context(), "h", At{Actor: by(author)})
			require.NoError(t, err)
			require.Equal(t, author == "b", fork.AsksAgain(), author)
		}
	})
}

// N11 K1: questions that were asked together are asked again together, with their rule.
func TestN11SiblingsAreAskedAgain(t *testing.T) {
	plain := engine.Question{Kind: engine.OpenText, Prompt: "When?"}
	for name, tc := range map[string]struct {
		rule   engine.Rule
		second bool // whether the plain question is answered, too
		want   interaction.Rule
	}{
		"all":  {engine.Rule{}, true, interaction.Rule{}},
		"any":  {engine.Rule{Answers: 1}, false, interaction.Rule{Answers: 1}},
		"stop": {engine.Rule{StopOnReject: true}, true, interaction.Rule{StopOnReject: true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &payer{asks: []engine.Question{payment(), plain}, rule: tc.rule}
				s := newStore(t)
				lc, stop := serve(t, Config{Store: s, Engine: p.engine()})
				defer stop()
				_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x"})
				require.NoError(t, err)
				synctest.Wait()
				if tc.second {
					_, err = lc.Reply(t.Context(), "r", Reply{ID: 2, Text: "now"})
					require.NoError(t, err)
				}
				peopleSay(t, lc, "r", Reply{Decision: Approve}, "a")
				in(t, lc.Client, "r", StateSucceeded)
				for question := 1; question <= 2; question++ {
					at := At{Question: question, Actor: by("b")}
					fork, err := lc.Fork(t.Context(), "r", at)
					require.NoError(t, err)
					synctest.Wait()
					fork = in(t, lc.Client, fork.ID, StateWaitingUser)
					require.Len(t, fork.Open, 2)
					if tc.rule.StopOnReject { // the run has forgotten the rule, and all were answered
						tc.want = interaction.Rule{}
					}
					require.Equal(t, tc.want, fork.Together.Rule)
					requireSoundLog(t, s, fork.ID)
					paid := p.paid
					_, err = lc.Reply(t.Context(), fork.ID, Reply{ID: 2, Text: "later"})
					require.NoError(t, err)
					synctest.Wait()
					if tc.rule.Answers == 0 {
						require.Equal(t, paid, p.paid)
						peopleSay(t, lc, fork.ID, Reply{Decision: Approve}, "a")
					}
					require.Equal(t, paid+1, p.paid)
					requireSoundLog(t, s, fork.ID)
				}
				_, err = lc.Fork(t.Context(), "r", At{Question: 2, Answer: Reply{Text: "later"}})
				require.ErrorIs(t, err, ErrCannotFork)
				require.ErrorContains(t, err, "asked together with question 1, which the fork asks again")
			})
		})
	}
}

// N11: the Answer of a fork is a reply of its author, with whatever a reply may have, and is refused
// where the reply would be.
func TestN11TheAnswerOfAFork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		form := engine.Question{Kind: engine.FillFields, Prompt: "How much?", Schema: json.RawMessage(
			`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)}
		var heard []engine.Answer
		lc, stop := serve(t, Config{Store: newStore(t), Engine: engine.Func(func(_ context.Context, t engine.Turn,
			_ engine.Sink) (engine.Outcome, error) {
			if len(t.Answers) == 0 {
				return engine.Ask(map[string]engine.Question{"form": form, "approval": payment()}[t.Prompt]), nil
			}
			heard = append(heard, t.Answers...)
			return engine.Done("done"), nil
		})})
		defer stop()
		submit := func(spec Spec, id, prompt string, reply Reply, people ...string) {
			spec.ID, spec.Prompt = id, prompt
			_, err := lc.Submit(t.Context(), spec)
			require.NoError(t, err)
			synctest.Wait()
			peopleSay(t, lc, id, reply, people...)
		}
		submit(Spec{}, "form", "form", Reply{Value: json.RawMessage(`{"n":1}`)}, "a")
		submit(forTwo(0), "one", "approval", Reply{Decision: Approve}, "a")
		submit(forTwo(2), "two", "approval", Reply{Decision: Approve}, "a", "c")
		heard = nil
		fork := func(id string, author Actor, answer Reply) error {
			_, err := lc.Fork(t.Context(), id, At{Question: 1, Actor: author, Answer: answer})
			synctest.Wait()
			return err
		}
		require.NoError(t, fork("form", by("b"), Reply{Value: json.RawMessage(`{"n":2}`)}))
		require.NoError(t, fork("one", by("c"), Reply{ID: 1, Decision: interaction.Edit,
			Value: json.RawMessage(`{"amount":1}`)}))
		require.Len(t, heard, 2)
		require.JSONEq(t, `{"n":2}`, string(heard[0].Value))
		require.Equal(t, []any{"c", interaction.Edit, `{"amount":1}`}, []any{heard[1].Actor, heard[1].Decision,
			string(heard[1].Arguments)})
		require.ErrorIs(t, fork("one", by("b"), Reply{Decision: Approve}), ErrNotAsked)
		require.ErrorIs(t, fork("one", Actor{}, Reply{Decision: Approve}), ErrNotAsked)
		require.ErrorIs(t, fork("one", by("c"), Reply{Decision: Approve, Seen: "0"}), ErrQuestionChanged)
		require.ErrorIs(t, fork("form", by("b"), Reply{Value: json.RawMessage(`{"n":"two"}`)}), ErrInvalidReply)
		require.ErrorIs(t, fork("form", by("b"), Reply{Text: "two"}), ErrCannotFork)
		require.ErrorContains(t, fork("two", by("c"), Reply{Decision: Approve}), "decided by several people")
		require.Len(t, heard, 2)
	})
}

// N11 E4 J1: a worker that dies before its fork has asked again has begun nothing, and the fork asks
// on another node, whatever is to happen to interrupted turns. A parked fork survives its node, too.
func TestN11AForkSurvivesItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &payer{asks: []engine.Question{payment()}}
		s := newStore(t)
		lc, stop := serve(t, Config{Store: s, Engine: p.engine()})
		_, err := lc.Submit(t.Context(), forTwo(0))
		require.NoError(t, err)
		synctest.Wait()
		peopleSay(t, lc, "r", Reply{Decision: Approve}, "a")
		stop()
		fork, err := lc.Fork(t.Context(), "r", At{Question: 1, ID: "f", Actor: by("b")})
		require.NoError(t, err)
		claimed := fork.Claim("dead")
		started, err := (&decide.Starts{Now: time.Now()}).Start(claimed, nil)
		require.NoError(t, err)
		dropped, err := decide.DroppedTurn(&started.Run, decide.HostDefaults{}, time.Now())
		require.NoError(t, err)
		found := decide.OrphanEvidence{At: lc.proc.Now()}
		orphaned, err := decide.Orphan(&started.Run, &found, decide.HostDefaults{})
		require.NoError(t, err)
		for _, next := range []Run{dropped.Run, orphaned.Run} {
			require.Equal(t, []any{fsm.StateQueued, 1, 0}, []any{next.State, next.Yielded, next.Repeats})
			require.True(t, next.AsksAgain())
		}

		lc, stop = serve(t, Config{Store: s, Engine: p.engine()})
		synctest.Wait()
		in(t, lc.Client, "f", StateWaitingUser)
		stop()
		time.Sleep(24 * time.Hour)
		lc, stop = serve(t, Config{Store: s, Engine: p.engine()})
		defer stop()
		time.Sleep(time.Hour)
		in(t, lc.Client, "f", StateWaitingUser)
		peopleSay(t, lc, "f", Reply{Decision: Approve}, "c")
		in(t, lc.Client, "f", StateSucceeded)
		require.Equal(t, 2, p.paid)

		auto := func(s *Spec) { s.Mode = fsm.ModeAuto }
		_, err = lc.Fork(t.Context(), "r", At{Question: 1, Actor: by("b"), Change: auto})
		require.ErrorIs(t, err, ErrCannotFork, "nobody could be asked")
	})
}
