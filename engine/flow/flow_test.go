package flow_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// host is a lifecycle that serves in a synctest bubble.
type host struct {
	*testing.T
	*lifecycle.Lifecycle

	stop func()
}

// serve serves the agent on the store until the test ends or stop is called.
func serve(t *testing.T, s store.Store, agent engine.Engine) *host {
	t.Helper()
	lc, err := lifecycle.New(lifecycle.Config{Store: s, Engine: agent, Forgiving: true, OnInterrupt: lifecycle.Repeat,
		Poll: time.Hour, Lease: 24 * time.Hour, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	h := &host{T: t, Lifecycle: lc}
	h.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-served)
	})
	t.Cleanup(h.stop)
	synctest.Wait()
	return h
}

func (h *host) submit(spec lifecycle.Spec) {
	h.Helper()
	if spec.ID = "r"; len(spec.Input) == 0 && spec.Prompt == "" {
		spec.Prompt = "x"
	}
	_, err := h.Submit(h.Context(), spec)
	require.NoError(h, err)
	synctest.Wait()
}

func (h *host) run() lifecycle.Run {
	h.Helper()
	synctest.Wait()
	r, err := h.Get(h.Context(), "r")
	require.NoError(h, err)
	return r
}

// reply answers the open question of that number.
func (h *host) reply(number int, text string) {
	h.Helper()
	_, err := h.Reply(h.Context(), "r", lifecycle.Reply{ID: number, Text: text})
	require.NoError(h, err)
	synctest.Wait()
}

// ended requires the run to have succeeded, and returns its final text.
func (h *host) ended() string {
	h.Helper()
	r := h.run()
	require.Equal(h, lifecycle.StateSucceeded, r.State, "%+v %+v", r.Error, r.Block)
	return r.FinalText
}

// held requires the run to be held, and returns the reason.
func (h *host) held() string {
	h.Helper()
	r := h.run()
	require.NotNil(h, r.Block, "%s %+v", r.State, r.Error)
	require.Equal(h, lifecycle.BlockHeld, r.Block.Kind)
	return r.Block.Reason
}

// ledger records steps.
type ledger struct {
	mu   sync.Mutex
	done []string // guarded by mu
}

// do is a step that records and returns the word.
func (l *ledger) do(word string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.done = append(l.done, word)
		return word, nil
	}
}

func (l *ledger) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.done, " ")
}

func ask(prompt string) engine.Question {
	return engine.Question{Kind: engine.OpenText, Prompt: prompt}
}

func bubble(t *testing.T, f func(t *testing.T)) { t.Helper(); synctest.Test(t, f) }

type in struct {
	Who string `json:"who"`
}

type out struct {
	Text string `json:"text"`
}

// M1: a function continues through questions, sleeps and restarts of its host; stored steps are not
// executed again, and a parked or sleeping run holds no slot.
func TestM1AFunctionGoesOnWhereItWas(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var l ledger
		var keys []string
		agent := flow.New("greet", func(c *flow.Ctx, in in) (out, error) {
			at, id, n := c.Now(), c.ID(), c.Rand().IntN(1<<30)
			first, err := flow.Step(c, "first", func(ctx context.Context) (string, error) {
				keys = append(keys, flow.Key(ctx))
				require.NoError(t, flow.Progress(ctx, "at work"))
				return l.do("first")(ctx)
			})
			if err != nil {
				return out{}, err
			}
			require.NoError(t, c.Say("one is done"))
			where, err := flow.Ask[string](c, "where", ask("Where to?"))
			if err != nil {
				require.ErrorIs(t, err, flow.ErrTurnOver)
				return out{}, err
			}
			if err := c.Sleep(72 * time.Hour); err != nil {
				return out{}, err
			}
			now, other, m := c.Now(), c.ID(), c.Rand().IntN(1<<30)
			same, err := flow.Step(c, "same", func(context.Context) (bool, error) {
				return at.Equal(now) || id == other || n == m, nil
			})
			if err != nil {
				return out{}, err
			}
			require.False(t, same, "later values are others")
			again, err := flow.Step(c, "again", func(context.Context) ([]any, error) { return []any{at, id, n}, nil })
			if err != nil {
				return out{}, err
			}
			require.Len(t, again, 3)
			last, err := flow.Step(c, "last", l.do("last"))
			return out{strings.Join([]string{in.Who, first, where, last}, ",")}, err
		})
		s := memory.New()
		h := serve(t, s, agent)
		h.submit(lifecycle.Spec{Input: []byte(`{"who":"ada"}`)})
		r := h.run()
		require.Equal(t, lifecycle.StateWaitingUser, r.State, "%+v", r.Error)
		require.False(t, r.Slot)
		require.Equal(t, 5, r.Journal.Entries, "now, id, random, step and message: in two commits")
		h.stop()
		h = serve(t, s, agent)
		h.reply(1, "Rome")
		r = h.run()
		require.Equal(t, lifecycle.StateQueued, r.State)
		require.Equal(t, store.BlockSleep, r.Block.Kind)
		require.False(t, r.Slot)
		time.Sleep(72*time.Hour - time.Second)
		require.Equal(t, lifecycle.StateQueued, h.run().State)
		time.Sleep(time.Second)
		h.ended()
		require.JSONEq(t, `{"text":"ada,first,Rome,last"}`, string(h.run().Output))
		require.Equal(t, "first last", l.String())
		require.Equal(t, []string{"r/4/first"}, keys)
		require.Equal(t, 1, h.run().Attempt-h.run().Yielded-1, "a sleep is no round")
	})
}

// M1: values that a step may depend on are written before it, so that they stay the same when it is
// repeated after the loss of its host.
func TestM1ValuesAreTheSameWhenAStepIsRepeated(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []string
		agent := flow.New("ids", func(c *flow.Ctx, _ string) (string, error) {
			id, at, n := c.ID(), c.Now(), c.Rand().Uint64()
			_ = flow.Version(c, "v", 3)
			return flow.Step(c, "use", func(ctx context.Context) (string, error) {
				seen = append(seen, strings.Join([]string{id, at.String(), flow.Key(ctx)}, " "), string(rune(n%100+33)))
				if len(seen) == 2 {
					return "", engine.Later(time.Hour, "busy")
				}
				return "done", nil
			})
		})
		h := serve(t, memory.New(), agent)
		h.submit(lifecycle.Spec{})
		require.Equal(t, store.BlockRetry, h.run().Block.Kind)
		time.Sleep(2 * time.Hour)
		require.Equal(t, "done", h.ended())
		require.Len(t, seen, 4)
		require.Equal(t, seen[:2], seen[2:])
	})
}

// M1: parallel branches keep their places, ask together, and continue when all is answered.
func TestM1BranchesAskTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var l ledger
		agent := flow.New("many", func(c *flow.Ctx, _ string) (string, error) {
			var got [3]string
			branch := func(i int) func(c *flow.Ctx) error {
				return func(c *flow.Ctx) (err error) {
					word := string(rune('a' + i))
					if _, err = flow.Step(c, "before "+word, l.do(word)); err != nil || i == 2 {
						return err
					}
					if got[i], err = flow.Ask[string](c, "q "+word, ask(word+"?")); err != nil {
						return err
					}
					_, err = flow.Step(c, "after", l.do(strings.ToUpper(word)))
					return err
				}
			}
			if err := flow.All(c, branch(0), branch(1), branch(2)); err != nil {
				return "", err
			}
			_, err := flow.Step(c, "end", l.do("end"))
			return strings.Join(got[:], "|"), err
		})
		h := serve(t, memory.New(), agent)
		h.submit(lifecycle.Spec{})
		r := h.run()
		require.Equal(t, "a?", r.Open[0].Prompt)
		require.Len(t, r.Open, 2)
		h.reply(2, "two")
		require.Equal(t, lifecycle.StateWaitingUser, h.run().State)
		h.reply(1, "one")
		require.Equal(t, "one|two|", h.ended())
		require.ElementsMatch(t, []string{"a", "b", "c", "A", "B", "end"}, strings.Fields(l.String()))
		require.True(t, strings.HasSuffix(l.String(), " end"))
	})
}

// M1: several questions of one place, with a rule, are answered in their order; unneeded ones have
// no answer.
func TestM1AskAllWithARule(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := flow.New("rule", func(c *flow.Ctx, _ string) (string, error) {
			q := ask("b?")
			q.Ref = "mine"
			answers, err := flow.AskAll(c, "any", engine.Rule{Answers: 1}, ask("a?"), q)
			if err != nil {
				return "", err
			}
			require.False(t, answers[0].Answered())
			require.Equal(t, "mine", answers[1].Ref)
			text, err := flow.Ask[string](c, "then", ask("c?"))
			return answers[1].Text + text, err
		})
		h := serve(t, memory.New(), agent)
		h.submit(lifecycle.Spec{})
		h.reply(2, "b")
		h.reply(3, "c")
		require.Equal(t, "bc", h.ended())
	})
}

// M1: forms are decoded, and only approved arguments are executed.
func TestM1FormsAndApprovals(t *testing.T) {
	bubble(t, func(t *testing.T) {
		type form struct{ Name string }
		agent := flow.New("form", func(c *flow.Ctx, _ string) (string, error) {
			f, err := flow.Ask[form](c, "form", engine.Question{Kind: engine.FillFields, Prompt: "Who?",
				Schema: []byte(`{"type":"object","properties":{"Name":{"type":"string"}},"required":["Name"]}`)})
			if err != nil {
				return "", err
			}
			q, err := engine.ApprovalOf("Pay?", "pay", map[string]string{"to": f.Name})
			require.NoError(t, err)
			arguments, err := flow.Approve(c, "pay", q)
			return string(arguments), err
		})
		h := serve(t, memory.New(), agent)
		h.submit(lifecycle.Spec{})
		_, err := h.Reply(h.Context(), "r", lifecycle.Reply{ID: 1, Value: []byte(`{"Name":"ada"}`)})
		require.NoError(t, err)
		synctest.Wait()
		_, err = h.Reply(h.Context(), "r", lifecycle.Reply{ID: 2, Decision: lifecycle.Approve})
		require.NoError(t, err)
		require.JSONEq(t, `{"to":"ada"}`, h.ended())
	})
}

// M1: a step is tried according to its policy, by the host's clock; its last error is stored, and
// is the same in every turn.
func TestM1StepsAreTriedAsTheirPolicySays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tries := 0
		var errs []string
		agent := flow.New("tries", func(c *flow.Ctx, _ string) (string, error) {
			_, err := flow.Step(c, "flaky", func(ctx context.Context) (int, error) {
				tries++
				<-ctx.Done()
				return 0, context.Cause(ctx)
			}, flow.Policy{Retries: 2, Backoff: time.Minute, Timeout: time.Second})
			var failed *flow.StepError
			require.ErrorAs(t, err, &failed)
			errs = append(errs, err.Error())
			text, err := flow.Ask[string](c, "on", ask("Go on?"))
			if err != nil {
				return "", err
			}
			_, err = flow.Step(c, "panics", func(context.Context) (int, error) { panic("oh") })
			require.ErrorContains(t, err, "panic: oh")
			return text, nil
		})
		began := time.Now()
		h := serve(t, memory.New(), agent)
		h.submit(lifecycle.Spec{})
		time.Sleep(time.Hour)
		h.reply(1, "yes")
		require.Equal(t, "yes", h.ended())
		require.Equal(t, 3, tries)
		require.Equal(t, []string{"step flaky: context deadline exceeded", errs[0]}, errs)
		require.Equal(t, time.Hour, time.Since(began))
	})
}

// M1: a failed function's compensations are executed in reverse order, each once, also if the
// compensation is put off; a failing one does not stop the others.
func TestM1CompensationInReverseOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var l ledger
		late := false
		undo := func(word string) func(context.Context) error {
			return func(ctx context.Context) error {
				_, err := l.do("-" + word)(ctx)
				if word == "b" {
					return errors.New("no undo of b")
				}
				if word == "a" && !late {
					late = true
					return engine.Later(time.Hour, "busy")
				}
				return err
			}
		}
		agent := flow.New("undo", func(c *flow.Ctx, _ string) (string, error) {
			for _, word := range []string{"a", "b"} {
				if _, err := flow.Step(c, word, l.do(word)); err != nil {
					return "", err
				}
				c.Defer("undo "+word, undo(word))
			}
			err := flow.All(c, func(c *flow.Ctx) error {
				_, err := flow.Step(c, "c", l.do("c"))
				c.Defer("undo c", undo("c"))
				return err
			})
			if err != nil {
				return "", err
			}
			if _, err := flow.Ask[string](c, "q", ask("?")); err != nil {
				return "", err
			}
			return "", errors.New("it cannot be")
		})
		h := serve(t, memory.New(), agent)
		h.submit(lifecycle.Spec{})
		require.Equal(t, "a b c", l.String(), "nothing is undone while the run waits")
		h.reply(1, "x")
		require.Equal(t, lifecycle.StateQueued, h.run().State)
		time.Sleep(2 * time.Hour)
		r := h.run()
		require.Equal(t, lifecycle.StateFailed, r.State)
		require.Equal(t, "a b c -c -b -a -a", l.String())
		require.Equal(t, "it cannot be\ncompensation: step undo b: no undo of b", r.Error.Message)
	})
}

// M1: a cancel ends the context; after it nothing is compensated or executed.
func TestM1ACancelArrivesAsTheContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var l ledger
		var after, cause error
		agent := flow.New("cancel", func(c *flow.Ctx, _ string) (string, error) {
			c.Defer("never", func(ctx context.Context) error { _, err := l.do("undone")(ctx); return err })
			_, err := flow.Step(c, "long", func(ctx context.Context) (string, error) {
				<-ctx.Done()
				cause = context.Cause(ctx)
				return "", ctx.Err()
			})
			_, after = flow.Step(c, "after", l.do("after"))
			return "", err
		})
		h := serve(t, memory.New(), agent)
		h.submit(lifecycle.Spec{})
		require.NoError(t, h.Cancel(h.Context(), "r", "no"))
		synctest.Wait()
		require.ErrorIs(t, cause, engine.ErrCanceled)
		require.ErrorIs(t, after, flow.ErrTurnOver)
		require.Empty(t, l.String())
		require.Equal(t, lifecycle.StateCanceled, h.run().State)
	})
}

// M2: a journal that does not fit the code holds the run, with a reason that names both calls; with
// fitting code it continues.
func TestM2AJournalThatDoesNotFitHoldsTheRun(t *testing.T) {
	type body = func(c *flow.Ctx, _ string) (string, error)
	var l ledger
	first := func(c *flow.Ctx, _ string) (string, error) {
		if _, err := flow.Step(c, "charge", l.do("charge")); err != nil {
			return "", err
		}
		return flow.Ask[string](c, "ship", ask("Ship?"))
	}
	for name, c := range map[string]struct {
		changed body
		reason  string
	}{
		"another name": {func(c *flow.Ctx, _ string) (string, error) {
			_, err := flow.Step(c, "pay", l.do("pay"))
			return "", err
		}, `the journal has step "charge" at 1, and the code has step "pay" there`},
		"another kind": {func(c *flow.Ctx, _ string) (string, error) {
			return "", c.Sleep(time.Hour)
		}, `the journal has step "charge" at 1, and the code has sleep there`},
		"another type": {func(c *flow.Ctx, _ string) (string, error) {
			_, err := flow.Step(c, "charge", func(context.Context) (int, error) { return 1, nil })
			return "", err
		}, `the journal has step "charge" at 1, and the code expects another type there: json: cannot unmarshal ` +
			`string into Go struct field result[int].value of type int`},
		"a step before the answer": {func(c *flow.Ctx, in string) (string, error) {
			_, _ = flow.Step(c, "charge", l.do("charge"))
			_, err := flow.Step(c, "new", l.do("new"))
			return "", err
		}, `the journal has ask "ship" at 2, and the code has step "new" there`},
		"another question": {func(c *flow.Ctx, in string) (string, error) {
			_, _ = flow.Step(c, "charge", l.do("charge"))
			return flow.Ask[string](c, "send", ask("Send?"))
		}, `the journal has ask "ship" at 2, and the code has ask "send" there`},
		"more questions": {func(c *flow.Ctx, in string) (string, error) {
			_, _ = flow.Step(c, "charge", l.do("charge"))
			_, err := flow.AskAll(c, "ship", engine.Rule{}, ask("a?"), ask("b?"))
			return "", err
		}, `the journal has 1 answers to "ship" at 2, and the code asks 2 questions there`},
		"an early end": {func(*flow.Ctx, string) (string, error) { return "done", nil },
			`the journal has step "charge" at 1, and the code ends before it`},
		"an early failure": {func(c *flow.Ctx, _ string) (string, error) {
			c.Defer("undo", func(context.Context) error { panic("nothing is undone") })
			return "", errors.New("no")
		}, `the journal has step "charge" at 1, and the code ends before it: no`},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := memory.New()
				h := serve(t, s, flow.New("order", first))
				h.submit(lifecycle.Spec{})
				require.Equal(t, lifecycle.StateWaitingUser, h.run().State)
				h.stop()
				h = serve(t, s, flow.New("order", c.changed))
				h.reply(1, "yes")
				require.Equal(t, c.reason, h.held())
				h.stop()
				h = serve(t, s, flow.New("order", first))
				require.NoError(t, h.Resume(h.Context(), "r", lifecycle.Resume{Choice: lifecycle.ChoiceRepeat}))
				require.Equal(t, "yes", h.ended())
			})
		})
	}
	require.NotContains(t, l.String(), "new")
	require.NotContains(t, l.String(), "pay")
}

// M2: a result with other members than the type's is of another type.
func TestM2AResultOfAnotherStructHoldsTheRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		type other struct{ Amount int }
		s := memory.New()
		h := serve(t, s, flow.New("f", func(c *flow.Ctx, _ string) (string, error) {
			_, _ = flow.Step(c, "s", func(context.Context) (out, error) { return out{"a"}, nil })
			return flow.Ask[string](c, "q", ask("?"))
		}))
		h.submit(lifecycle.Spec{})
		h.stop()
		h = serve(t, s, flow.New("f", func(c *flow.Ctx, _ string) (string, error) {
			_, _ = flow.Step(c, "s", func(context.Context) (other, error) { return other{1}, nil })
			return flow.Ask[string](c, "q", ask("?"))
		}))
		h.reply(1, "x")
		require.Contains(t, h.held(), `the journal has step "s" at 1, and the code expects another type there`)
	})
}

// M2, E2: no function continues a run of another function or engine.
func TestM2ARunBelongsToItsFunction(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := memory.New()
		asks := func(c *flow.Ctx, _ string) (string, error) { return flow.Ask[string](c, "q", ask("?")) }
		h := serve(t, s, flow.New("one", asks))
		h.submit(lifecycle.Spec{})
		h.stop()
		h = serve(t, s, flow.New("two", asks))
		h.reply(1, "x")
		require.Equal(t, `the run belongs to flow "one", and the engine is function "two"`, h.held())
		require.Equal(t, engine.CodeSessionResumeFailed, h.run().Block.Code)
	})
}

// M2: Version shows a change to new runs only, wherever old runs are.
func TestM2VersionIsForIntendedChanges(t *testing.T) {
	before := func(c *flow.Ctx, _ string) (string, error) {
		return flow.Ask[string](c, "q", ask("?"))
	}
	after := func(c *flow.Ctx, _ string) (string, error) {
		tax := ""
		if flow.Version(c, "tax", 1) >= 1 {
			var err error
			tax, err = flow.Step(c, "tax", func(context.Context) (string, error) { return "taxed ", nil })
			if err != nil {
				return "", err
			}
		}
		text, err := flow.Ask[string](c, "q", ask("?"))
		return tax + text, err
	}
	for name, begun := range map[string]bool{"x": true, "taxed x": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := memory.New()
				agent := flow.New("v", after)
				if begun {
					agent = flow.New("v", before)
				}
				h := serve(t, s, agent)
				h.submit(lifecycle.Spec{})
				h.stop()
				h = serve(t, s, flow.New("v", after))
				h.reply(1, "x")
				require.Equal(t, name, h.ended())
			})
		})
	}
}

// M1: a result that cannot be stored fails the run with a reason.
func TestM1AStepThatCannotBeKeptFailsTheRun(t *testing.T) {
	for name, c := range map[string]struct {
		step   func(context.Context) (any, error)
		reason string
	}{
		"too large": {func(context.Context) (any, error) { return strings.Repeat("x", engine.MaxJournalBody), nil },
			"the journal is full: entry \"s\" at 1: it has 1048588 bytes, and an entry may have 1048576"},
		"no JSON": {func(context.Context) (any, error) { return func() {}, nil }, `step "s" at 1 cannot be encoded as JSON`},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := serve(t, memory.New(), flow.New("f", func(ctx *flow.Ctx, _ string) (string, error) {
					_, err := flow.Step(ctx, "s", c.step)
					return "", err
				}))
				h.submit(lifecycle.Spec{})
				r := h.run()
				require.Equal(t, lifecycle.StateFailed, r.State)
				require.Contains(t, r.Error.Message, c.reason)
			})
		})
	}
}

// M4: a plain engine gets input, labels, clock and history.
func TestM4APlainEngineGetsWhatItNeeds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var turns []engine.Turn
		var history []engine.Record
		agent := engine.Func(func(ctx context.Context, turn engine.Turn, _ engine.Sink) (engine.Outcome, error) {
			turns = append(turns, turn)
			var err error
			if history, err = turn.History.Records(ctx); err != nil {
				return engine.Outcome{}, err
			}
			if len(turn.Answers) == 0 {
				return engine.Ask(ask("What?")), nil
			}
			return engine.Done("so"), nil
		})
		h := serve(t, memory.New(), agent)
		h.submit(lifecycle.Spec{Prompt: "do it", Input: []byte(`{"a":1}`), Labels: map[string]string{"team": "blue"}})
		h.reply(1, "this")
		require.Equal(t, "so", h.ended())
		require.Len(t, turns, 2)
		for _, turn := range turns {
			require.Equal(t, "do it", turn.Prompt, "no text for language models")
			require.JSONEq(t, `{"a":1}`, string(turn.InputJSON))
			require.Equal(t, map[string]string{"team": "blue"}, turn.Labels)
			require.WithinDuration(t, time.Now(), turn.Clock.Now(), 0)
		}
		require.Len(t, history, 1)
		require.Equal(t, "this", history[0].Response)
		require.Equal(t, interaction.UserReply, history[0].Resolution)
	})
}
