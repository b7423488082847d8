package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
)

// gift charges, asks for the address, ships, asks for the text, and reports.
func gift(l *ledger) *flow.Agent[string, string] {
	return flow.New("gift", func(c *flow.Ctx, _ string) (string, error) {
		said, err := flow.Step(c, "charge", l.do("charge"))
		for _, name := range []string{"where", "words"} {
			var answer string
			if err == nil {
				answer, err = flow.Ask[string](c, name, ask(name+"?"))
			}
			if err == nil {
				answer, err = flow.Step(c, "do", l.do(answer))
			}
			said += " " + answer
		}
		return said, err
	})
}

// fork forks a run and returns the fork at rest.
func (h *host) fork(id string, at lifecycle.At) lifecycle.Run {
	h.Helper()
	fork, err := h.Fork(h.Context(), id, at)
	require.NoError(h, err)
	synctest.Wait()
	fork, err = h.Get(h.Context(), fork.ID)
	require.NoError(h, err)
	return fork
}

// J6 M1: a fork of a function's run has the journal up to the question: earlier steps are not
// executed again, later ones are.
func TestJ6AForkHasTheJournalUpToItsQuestion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var l ledger
		s := memory.New()
		h := serve(t, s, gift(&l))
		h.submit(lifecycle.Spec{})
		h.reply(1, "Rome")
		h.reply(2, "Ciao")
		require.Equal(t, "charge Rome Ciao", h.ended())
		require.Equal(t, "charge Rome Ciao", l.String())

		fork := h.fork("r", lifecycle.At{ID: "f", Question: 1, Answer: lifecycle.Reply{Text: "Oslo"}})
		require.Equal(t, "words?", fork.Open[0].Prompt)
		require.Equal(t, "charge Rome Ciao Oslo", l.String(), "the charge was kept")
		h.stop()
		pruned, err := h.Prune(t.Context(), time.Now().Add(time.Hour))
		require.NoError(t, err)
		require.Equal(t, 1, pruned, "the source is gone, and the fork has its journal")
		h = serve(t, s, gift(&l))
		_, err = h.Reply(t.Context(), "f", lifecycle.Reply{ID: 1, Text: "Hei"})
		require.NoError(t, err)
		fork, err = h.Wait(t.Context(), "f")
		require.NoError(t, err)
		require.Equal(t, "charge Oslo Hei", fork.FinalText)

		second := h.fork("f", lifecycle.At{Question: 1, Answer: lifecycle.Reply{Text: "Hallo"}})
		require.Equal(t, "charge Oslo Hallo", second.FinalText, "a fork of a fork has both journals")
		require.Equal(t, "charge Rome Ciao Oslo Hei Hallo", l.String())
	})
}

// J6 M1: a fork of a failed run continues after the run's last answers. It may replace any of
// several answers to questions that were asked together.
func TestJ6AForkExecutesWhatFailedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var l ledger
		broken := true
		h := serve(t, memory.New(), flow.New("sum", func(c *flow.Ctx, _ string) (string, error) {
			if _, err := flow.Step(c, "before", l.do("before")); err != nil {
				return "", err
			}
			answers, err := flow.AskAll(c, "parts", engine.Rule{}, ask("A?"), ask("B?"))
			if err != nil {
				return "", err
			}
			return flow.Step(c, "after", func(ctx context.Context) (string, error) {
				if broken {
					return "", errors.New("no sum")
				}
				return l.do(answers[0].Text + answers[1].Text)(ctx)
			})
		}))
		h.submit(lifecycle.Spec{})
		h.reply(1, "a")
		_, err := h.Fork(t.Context(), "r", lifecycle.At{Question: 1})
		require.ErrorIs(t, err, lifecycle.ErrCannotFork, "the other question is open")
		h.reply(2, "b")
		require.Equal(t, lifecycle.StateFailed, h.run().State)
		broken = false
		require.Equal(t, "ab", h.fork("r", lifecycle.At{ID: "f"}).FinalText, "the error was kept after the point")
		require.Equal(t, "xb", h.fork("r", lifecycle.At{Question: 1, Answer: lifecycle.Reply{Text: "x"}}).FinalText)
		require.Equal(t, "before ab xb", l.String())
	})
}

// J6 M1: a fork that could not continue is refused.
func TestJ6ForksOfFunctionsThatAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var l ledger
		s := memory.New()
		h := serve(t, s, gift(&l))
		h.submit(lifecycle.Spec{})
		h.reply(1, "Rome")
		h.reply(2, "Ciao")
		require.Equal(t, "charge Rome Ciao", h.ended())
		_, err := h.Fork(t.Context(), "r", lifecycle.At{Answer: lifecycle.Reply{Text: "once more"}})
		require.ErrorIs(t, err, lifecycle.ErrCannotFork)
		require.ErrorContains(t, err, "function gift accepts no message after its end; name a settled question")
		h.stop()
		h = serve(t, s, flow.New("other", func(*flow.Ctx, string) (string, error) { return "", nil }))
		_, err = h.Fork(t.Context(), "r", lifecycle.At{Question: 1})
		require.ErrorIs(t, err, lifecycle.ErrCannotFork)
		require.ErrorContains(t, err, `the run belongs to flow "gift", and the engine is function "other"`)

		plain, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: s}) // has no engine that could refuse
		require.NoError(t, err)
		defer plain.Close()
		late, err := plain.Fork(t.Context(), "r", lifecycle.At{Question: 1})
		require.NoError(t, err)
		h.stop()
		h = serve(t, s, flow.New("other", func(*flow.Ctx, string) (string, error) { return "", nil }))
		late, err = h.Get(t.Context(), late.ID)
		require.NoError(t, err)
		require.NotNil(t, late.Block, "%s %+v", late.State, late.Error)
		require.Contains(t, late.Block.Reason, `the engine is function "other"`)
	})
}

// J6 M3: a fork inherits the results of children that its function has read. Other children belong
// to the source; the fork could never get their results.
func TestJ6AForkHasTheResultsOfChildren(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var l ledger
		h := serve(t, memory.New(), flow.New("parent", func(c *flow.Ctx, prompt string) (string, error) {
			if prompt == "child" {
				if err := c.Sleep(time.Hour); err != nil {
					return "", err
				}
				return flow.Step(c, "work", l.do("worked"))
			}
			result, err := flow.Run[string](c, "first", engine.Child{Prompt: "child"})
			if err != nil {
				return "", err
			}
			answer, err := flow.Ask[string](c, "one", ask("One?"))
			if err != nil {
				return "", err
			}
			second, err := flow.Spawn(c, "second", engine.Child{Prompt: "child"})
			if err != nil {
				return "", err
			}
			if _, err := flow.Ask[string](c, "two", ask("Two?")); err != nil {
				return "", err
			}
			other, err := flow.Wait[string](c, second)
			return result + " " + answer + " " + other, err
		}))
		h.submit(lifecycle.Spec{})
		time.Sleep(2 * time.Hour)
		h.reply(1, "a")
		h.reply(2, "b")
		_, err := h.Fork(t.Context(), "r", lifecycle.At{Question: 2})
		require.ErrorIs(t, err, lifecycle.ErrCannotFork)
		require.ErrorContains(t, err, "which had not ended at that point")
		time.Sleep(2 * time.Hour)
		require.Equal(t, "worked a worked", h.ended())
		_, err = h.Fork(t.Context(), "r", lifecycle.At{Question: 2})
		require.ErrorIs(t, err, lifecycle.ErrCannotFork, "it has ended since")

		h.fork("r", lifecycle.At{ID: "f", Question: 1, Answer: lifecycle.Reply{Text: "x"}})
		_, err = h.Reply(t.Context(), "f", lifecycle.Reply{ID: 1, Text: "b"})
		require.NoError(t, err)
		fork, err := h.Wait(t.Context(), "f")
		require.NoError(t, err)
		require.Equal(t, "worked x worked", fork.FinalText)
		require.Len(t, l.done, 3, "the first child was not started again")
	})
}

// J6 M3: a child that had ended before the question, but whose result the function reads only
// afterwards, belongs to the source. The fork fails there and says so; the child is not started
// again.
func TestJ6AForkThatWaitsForAChildOfItsSourceFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var l ledger
		h := serve(t, memory.New(), flow.New("parent", func(c *flow.Ctx, prompt string) (string, error) {
			if prompt == "child" {
				return flow.Step(c, "work", l.do("worked"))
			}
			kid, err := flow.Spawn(c, "kid", engine.Child{Prompt: "child"})
			if err != nil {
				return "", err
			}
			if err := c.Sleep(time.Hour); err != nil { // the child ends during it
				return "", err
			}
			answer, err := flow.Ask[string](c, "one", ask("One?"))
			if err != nil {
				return "", err
			}
			result, err := flow.Wait[string](c, kid)
			return answer + " " + result, err
		}))
		h.submit(lifecycle.Spec{})
		time.Sleep(3 * time.Hour)
		h.reply(1, "a")
		require.Equal(t, "a worked", h.ended())
		h.fork("r", lifecycle.At{ID: "f", Question: 1, Answer: lifecycle.Reply{Text: "b"}})
		time.Sleep(3 * time.Hour)
		fork, err := h.Get(t.Context(), "f")
		require.NoError(t, err)
		require.Equal(t, lifecycle.StateFailed, fork.State, "%+v", fork.Block)
		require.Contains(t, fork.Error.Message, "is no child of run f")
		require.Equal(t, "worked", l.String())
	})
}

// N11 M1: a fork repeats the approvals in its journal, since the approval was the source's; earlier
// steps are not repeated. The fork's own answer stays.
func TestN11AForkOfAFunctionAsksApprovalsAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var l ledger
		h := serve(t, memory.New(), flow.New("payer", func(c *flow.Ctx, _ string) (string, error) {
			if _, err := flow.Step(c, "prepare", l.do("prepared")); err != nil {
				return "", err
			}
			q := engine.Question{Kind: engine.Approval, Prompt: "Pay?",
				Subject: &engine.Subject{Tool: "pay", Arguments: []byte(`{"amount":5}`)}}
			if _, err := flow.Approve(c, "approve", q); err != nil {
				return "", err
			}
			account, err := flow.Ask[string](c, "account", ask("From which account?"))
			if err != nil {
				return "", err
			}
			return flow.Step(c, "pay", l.do("paid from "+account))
		}))
		approve := func(id string) {
			_, err := h.Reply(t.Context(), id, lifecycle.Reply{ID: 1, Decision: lifecycle.Approve,
				Actor: lifecycle.Actor{ID: "ada"}})
			require.NoError(t, err)
			synctest.Wait()
		}
		h.submit(lifecycle.Spec{})
		approve("r")
		h.reply(2, "A")
		require.Equal(t, "paid from A", h.ended())
		answer := lifecycle.Reply{Text: "A"}
		for _, at := range []lifecycle.At{{Question: 1}, {Question: 2}, {Question: 2, Answer: answer}} {
			done := l.String()
			fork := h.fork("r", at)
			require.Equal(t, "Pay?", fork.Open[0].Prompt)
			require.Equal(t, done, l.String())
			approve(fork.ID)
			if at.Question == 1 {
				_, err := h.Reply(t.Context(), fork.ID, lifecycle.Reply{ID: 2, Text: "A"})
				require.NoError(t, err)
			}
			synctest.Wait()
			fork, err := h.Get(t.Context(), fork.ID)
			require.NoError(t, err)
			require.Equal(t, "paid from A", fork.FinalText, "%v", fork.Block)
			require.Equal(t, done+" paid from A", l.String())

			again := h.fork(fork.ID, lifecycle.At{Question: 1})
			require.Equal(t, "Pay?", again.Open[0].Prompt, "a fork of the fork asks, too")
		}
	})
}

// N11: a fork's journal loses the answers that the source got and the fork does not inherit; all
// other entries stay.
func TestN11WhichAnswersAreWithheld(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	answer := func(path string, number int, at time.Time) engine.JournalEntry {
		body, err := json.Marshal([]engine.Answer{{ID: number, Resolution: engine.UserReply, AcceptedAt: at}})
		require.NoError(t, err)
		return engine.JournalEntry{Path: path, Name: "q", Type: "ask", Body: body}
	}
	record := func(number int, ref string) engine.Record {
		q := engine.Question{ID: number, Ref: ref}
		return engine.Record{Question: q, Resolution: engine.UserReply, ResolvedAt: at}
	}
	withheld := []engine.Record{record(1, "of an agent"), record(2, "flow 9 0 gone"), record(3, "flow 1 0 s"),
		record(4, "flow 2 0 q"), record(5, "flow 3 0 q"), record(6, "flow 4 0 q")}
	d := &desk{entries: []engine.JournalEntry{{Path: "1", Name: "s", Type: "step", Body: []byte(`{"value":1}`)},
		answer("2", 4, at.Add(time.Hour)), answer("3", 8, at), answer("4", 6, at)}}
	o, err := flow.New("f", func(c *flow.Ctx, _ string) (string, error) {
		if err := stepOf(2)(c); err != nil {
			return "", err
		}
		for _, prompt := range []string{"changed by another answer", "of another question", "withheld"} {
			if _, err := flow.Ask[string](c, "q", ask(prompt)); err != nil {
				return "", err
			}
		}
		return "", nil
	}).RunTurn(t.Context(), engine.Turn{RunID: "r", Withheld: withheld}, d)
	require.NoError(t, err)
	require.Len(t, o.Questions, 1)
	require.Equal(t, "withheld", o.Questions[0].Prompt)
}
