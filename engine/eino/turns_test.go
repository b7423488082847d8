package eino_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/eino"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

func TestToolOfAnAgentAsksAndGetsTheAnswer(t *testing.T) {
	var shop till
	e, err := eino.NewAgent(newClerk(&shop, "5 EUR"), eino.Config{})
	require.NoError(t, err)
	s := enginetest.NewTalk(t, e)

	o := s.Do("Pay 5 EUR.")
	require.Equal(t, []interaction.Question{{
		Kind: interaction.ChooseOne, Prompt: "Pay 5 EUR?", DefaultPolicy: interaction.EngineJudgement,
		Options: refund("").Options,
		UIHints: refund("").UIHints,
	}}, o.Questions)
	require.Empty(t, o.FinalText)
	require.Equal(t, []string{"I shall ask first."}, s.Messages())
	require.Equal(t, engine.Usage{InputTokens: 10, OutputTokens: 3}, o.Usage)

	o = s.Do("yes")
	require.Empty(t, o.Questions)
	require.True(t, interaction.Read(o.FinalText, nil).Done)
	require.Equal(t, "paid 5 EUR", interaction.Read(o.FinalText, nil).Text)
	require.Equal(t, []string{"I shall ask first."}, s.Messages(), "nothing is told twice")
	require.EqualValues(t, 1, shop.paid.Load())
}

// K1: concurrent interrupts are asked together, and each answer belongs to one interrupt.
func TestK1QuestionsOfSeveralToolsAreAskedTogether(t *testing.T) {
	var shop till
	e, err := eino.NewAgent(newClerk(&shop, "1 EUR", "2 EUR", "3 EUR"), eino.Config{})
	require.NoError(t, err)
	s := enginetest.NewTalk(t, e)
	var asked []string
	for _, q := range s.Do("Pay them all.").Questions {
		asked = append(asked, q.Prompt)
	}
	o := s.Do("yes", "no", "yes")
	require.Equal(t, []string{"Pay 1 EUR?", "Pay 2 EUR?", "Pay 3 EUR?"}, asked)
	require.Equal(t, "paid 1 EUR, not paid, paid 3 EUR", interaction.Read(o.FinalText, nil).Text)
	require.EqualValues(t, 2, shop.paid.Load())
}

// An agent that ends its turn with a text is later asked with the whole conversation.
func TestAgentGetsTheEarlierConversation(t *testing.T) {
	var shop till
	e, err := eino.NewAgent(newClerk(&shop, "5 EUR"), eino.Config{Ends: eino.EndsTurn})
	require.NoError(t, err)
	s := enginetest.NewTalk(t, e)
	require.Equal(t, "1 messages so far. What shall I pay?", s.Do("hello").FinalText)
	require.Equal(t, "3 messages so far. What shall I pay?", s.Do("hello again").FinalText)
	s.Do("5 EUR, please")
	require.Contains(t, s.Do("yes").FinalText, "paid 5 EUR")
	// two of hello, two of hello again, and four of the payment: request, call, result, report
	require.Equal(t, "9 messages so far. What shall I pay?", s.Do("hello once more").FinalText)
}

// E4, I2: two attempts of a turn run concurrently, the first after it has lost its run. Both
// start from the same checkpoint, and each writes a separate one.
func TestConcurrentAttemptsDoNotShareACheckpoint(t *testing.T) {
	var shop till
	e, err := eino.NewAgent(newClerk(&shop, "1 EUR", "2 EUR"), eino.Config{})
	require.NoError(t, err)
	s := enginetest.NewTalk(t, e)
	s.Do("Pay them.")
	before := s.Next("yes") // the other question has no answer

	outcomes := make([]engine.Outcome, 4)
	var all sync.WaitGroup
	for i := range outcomes {
		turn := before
		turn.Epoch += uint64(i)
		all.Go(func() { outcomes[i], _ = e.RunTurn(t.Context(), turn, &enginetest.Recorder{}) })
	}
	all.Wait()
	for _, o := range outcomes {
		require.Equal(t, "Pay 2 EUR?", o.Questions[0].Prompt)
		require.NoError(t, e.Check(t.Context(), "r1", *o.Session))
	}
	s.Turn.Session, s.Asked = outcomes[0].Session, outcomes[0].Questions
	require.Equal(t, "paid 1 EUR, not paid", interaction.Read(s.Do("no").FinalText, nil).Text)
}

// E2: a checkpoint that is gone, damaged, or of another revision of the graph.
func TestUnusableCheckpointIsSessionResumeFailed(t *testing.T) {
	var shop till
	parked := func(t *testing.T) *enginetest.Talk {
		t.Helper()
		e, err := eino.Compile(t.Context(), paying(t, &shop), eino.GraphConfig[string,
			string]{Config: eino.Config{Revision: "1"}})
		require.NoError(t, err)
		s := enginetest.NewTalk(t, e)
		s.Do("5 EUR")
		return s
	}
	t.Run("gone", func(t *testing.T) {
		s := parked(t)
		require.NoError(t, os.RemoveAll(filepath.Join(s.Turn.HomeDir, "checkpoints")))
		require.ErrorIs(t, s.Engine.(engine.Checker).Check(t.Context(), "r1", *s.Turn.Session), engine.ErrHandleRefused)
		require.Equal(t, fsm.CodeSessionResumeFailed, s.Fails("yes").Code)
	})
	t.Run("another revision", func(t *testing.T) {
		s := parked(t)
		var err error
		s.Engine, err = eino.Compile(t.Context(), paying(t, &shop), eino.GraphConfig[string,
			string]{Config: eino.Config{Revision: "2"}})
		require.NoError(t, err)
		require.Equal(t, fsm.CodeSessionResumeFailed, s.Fails("yes").Code)
	})
	t.Run("a graph that was changed under the same revision", func(t *testing.T) {
		s := parked(t)
		g := compose.NewGraph[string, string]()
		require.NoError(t, g.AddLambdaNode("sell", compose.InvokableLambda(shop.pay)))
		require.NoError(t, g.AddEdge(compose.START, "sell"))
		require.NoError(t, g.AddEdge("sell", compose.END))
		var err error
		s.Engine, err = eino.Compile(t.Context(), g, eino.GraphConfig[string,
			string]{Config: eino.Config{Revision: "1"}})
		require.NoError(t, err)
		f := s.Fails("yes")
		require.Equal(t, fsm.CodeSessionResumeFailed, f.Code)
		require.ErrorContains(t, f, "a new revision")
	})
	t.Run("a node that fails when it is resumed", func(t *testing.T) {
		s := parked(t)
		g := compose.NewGraph[string, string]()
		require.NoError(t, g.AddLambdaNode("pay", compose.InvokableLambda(func(context.Context, string) (string,
			error) {
			return "", errors.New("no money")
		})))
		require.NoError(t, g.AddEdge(compose.START, "pay"))
		require.NoError(t, g.AddEdge("pay", compose.END))
		var err error
		s.Engine, err = eino.Compile(t.Context(), g, eino.GraphConfig[string,
			string]{Config: eino.Config{Revision: "1"}})
		require.NoError(t, err)
		require.Equal(t, fsm.CodeEngineFailed, s.Fails("yes").Code)
	})
	t.Run("a type that Eino does not know", func(t *testing.T) {
		s := parked(t)
		spoil := &enginetest.Talk{TB: t, Engine: s.Engine, Turn: s.Turn}
		spoil.Turn.Session = unreadable(t, s)
		require.Equal(t, fsm.CodeSessionResumeFailed, spoil.Fails("yes").Code)
	})
	require.Zero(t, shop.paid.Load())
}

// A6: an automatic run asks no one.
func TestInterruptFailsAnAutomaticRun(t *testing.T) {
	var shop till
	e, err := eino.Compile(t.Context(), paying(t, &shop), eino.GraphConfig[string, string]{})
	require.NoError(t, err)
	s := enginetest.NewTalk(t, e)
	s.Turn.Mode = fsm.ModeAuto
	f := s.Fails("5 EUR")
	require.Equal(t, fsm.CodeEngineFailed, f.Code)
	require.Contains(t, f.Detail, "asks no one")
}

// gated is a graph that is compiled to stop before it pays; its state is the decision.
func gated(t *testing.T, shop *till, cfg eino.Config) *enginetest.Talk {
	t.Helper()
	g := compose.NewGraph[string, string](compose.WithGenLocalState(func(context.Context) *decision {
		return &decision{}
	}))
	pay := func(ctx context.Context, sum string) (string, error) {
		agreed := false
		err := compose.ProcessState(ctx, func(_ context.Context, d *decision) error {
			agreed = d.Agreed
			return nil
		})
		if !agreed || err != nil {
			return "not paid", err
		}
		shop.paid.Add(1)
		return "paid " + sum, nil
	}
	require.NoError(t, g.AddLambdaNode("pay", compose.InvokableLambda(pay)))
	require.NoError(t, g.AddEdge(compose.START, "pay"))
	require.NoError(t, g.AddEdge("pay", compose.END))
	e, err := eino.Compile(t.Context(), g, eino.GraphConfig[string, string]{Config: cfg},
		compose.WithInterruptBeforeNodes([]string{"pay"}))
	require.NoError(t, err)
	return enginetest.NewTalk(t, e)
}

type decision struct{ Agreed bool }

func init() { schema.RegisterName[*decision]("interlude_test_decision") }

// N2: a form with an unusable schema is refused before anything is stored or asked.
func TestN2AnUnusableSchemaIsRefused(t *testing.T) {
	var shop till
	f := gated(t, &shop, eino.Config{
		Question: func(eino.Interrupt) interaction.Question {
			return interaction.Question{Prompt: "?", Schema: []byte(`{"type":"objekt"}`)}
		},
		Reply: func(context.Context, eino.Interrupt, interaction.Answer) (any, error) { return decision{}, nil },
	}).Fails("5 EUR")
	require.Equal(t, fsm.CodeEngineFailed, f.Code)
	require.True(t, f.Repairable)
	require.ErrorIs(t, f, interaction.ErrSchema)
}

// Eino passes a gate whatever the answer; here the answer always matters.
func TestGateNeedsConfigReply(t *testing.T) {
	var shop till
	f := gated(t, &shop, eino.Config{}).Fails("5 EUR")
	require.Contains(t, f.Detail, "configure the effect of a reply")

	for answer, paid := range map[string]int64{"yes": 1, "no": 0} {
		shop.paid.Store(0)
		s := gated(t, &shop, eino.Config{Reply: func(_ context.Context, i eino.Interrupt, a interaction.Answer) (any,
			error) {
			require.True(t, i.Gate)
			require.Equal(t, interaction.Confirm, i.Question.Kind)
			return &decision{Agreed: a.Text == "yes"}, nil
		}})
		require.Equal(t, interaction.Confirm, s.Do("5 EUR").Questions[0].Kind)
		s.Do(answer)
		require.Equal(t, paid, shop.paid.Load())
	}

	s := gated(t, &shop, eino.Config{Reply: func(context.Context, eino.Interrupt, interaction.Answer) (any, error) {
		return nil, nil //nolint:nilnil // no new state is no fault
	}})
	s.Do("5 EUR")
	require.Contains(t, s.Do("whatever").FinalText, "not paid", "the state is as it was")

	s = gated(t, &shop, eino.Config{Reply: func(context.Context, eino.Interrupt, interaction.Answer) (any, error) {
		return nil, errors.New("neither yes nor no")
	}})
	s.Do("5 EUR")
	require.ErrorContains(t, s.Fails("maybe"), "neither yes nor no")
}

func TestTurnWithoutAnAnswerToItsInterruptFails(t *testing.T) {
	var shop till
	e, err := eino.Compile(t.Context(), paying(t, &shop), eino.GraphConfig[string, string]{})
	require.NoError(t, err)
	s := enginetest.NewTalk(t, e)
	s.Do("5 EUR")
	turn := s.Next("")
	turn.Answers = nil
	_, err = e.RunTurn(t.Context(), turn, s)
	require.ErrorContains(t, err, "waits for an answer")
}

func TestGraphWithoutCheckpointStoreFails(t *testing.T) {
	var shop till
	compiled, err := paying(t, &shop).Compile(t.Context(), compose.WithCheckPointStore(&shelf{}))
	require.NoError(t, err)
	e, err := eino.New(compiled, eino.GraphConfig[string, string]{})
	require.NoError(t, err)
	require.Contains(t, enginetest.NewTalk(t, e).Fails("5 EUR").Detail, "the engine's checkpoint store")
}

// A panic in a node or an agent fails the turn.
func TestPanicFailsTheTurn(t *testing.T) {
	g := compose.NewGraph[string, string]()
	broken := compose.InvokableLambda(func(context.Context, string) (string, error) { panic("out of paper") })
	require.NoError(t, g.AddLambdaNode("broken", broken))
	require.NoError(t, g.AddEdge(compose.START, "broken"))
	require.NoError(t, g.AddEdge("broken", compose.END))
	e, err := eino.Compile(t.Context(), g, eino.GraphConfig[string, string]{})
	require.NoError(t, err)
	require.ErrorContains(t, enginetest.NewTalk(t, e).Fails("x"), "out of paper")

	e, err = eino.NewAgent(func(context.Context) (adk.Agent, error) { return nil, errors.New("no key") }, eino.Config{})
	require.NoError(t, err)
	require.ErrorContains(t, enginetest.NewTalk(t, e).Fails("x"), "no key")
}

// J2: the model provider's error text decides whether the failure is transient.
func TestOverloadedModelIsAPassingFailure(t *testing.T) {
	for text, passing := range map[string]bool{
		"error, status code: 529, message: overloaded": true, "error, status code: 401, message: bad key": false,
	} {
		g := compose.NewGraph[string, string]()
		model := compose.InvokableLambda(func(context.Context, string) (string, error) { return "", errors.New(text) })
		require.NoError(t, g.AddLambdaNode("model", model))
		require.NoError(t, g.AddEdge(compose.START, "model"))
		require.NoError(t, g.AddEdge("model", compose.END))
		e, err := eino.Compile(t.Context(), g, eino.GraphConfig[string, string]{})
		require.NoError(t, err)
		f := enginetest.NewTalk(t, e).Fails("x")
		require.Equal(t, fsm.CodeEngineFailed, f.Code)
		require.Equal(t, passing, f.Transient, text)
	}
}

func TestSayAndTurnNeedTheContextOfATurn(t *testing.T) {
	require.ErrorContains(t, eino.Say(t.Context(), "hello"), "no turn")
	_, _, err := eino.Checkpoints().Get(t.Context(), "1")
	require.ErrorContains(t, err, "no turn")
	require.ErrorContains(t, eino.Checkpoints().Set(t.Context(), "1", nil), "no turn")
	_, ok := eino.Turn(t.Context())
	require.False(t, ok)
}

// J13: a turn that fails after its model was asked reports the tokens, whether a node fails or
// panics, the turn is ended, or no one can be asked.
func TestFailedTurnHandsOverItsUsage(t *testing.T) {
	for name, last := range map[string]func(ctx context.Context, stop func()) error{
		"an error": func(context.Context, func()) error { return errors.New("out of paper") },
		"a panic":  func(context.Context, func()) error { panic("out of paper") },
		"a turn that is ended": func(ctx context.Context, stop func()) error {
			stop()
			return ctx.Err()
		},
		"a question in an automatic run": func(ctx context.Context, _ func()) error {
			return compose.Interrupt(ctx, "Pay?")
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			g := compose.NewGraph[[]*schema.Message, *schema.Message]()
			require.NoError(t, g.AddChatModelNode("model", clerk{}))
			require.NoError(t, g.AddLambdaNode("last", compose.InvokableLambda(func(ctx context.Context,
				m *schema.Message) (*schema.Message, error) {
				return m, last(ctx, stop)
			})))
			require.NoError(t, g.AddEdge(compose.START, "model"))
			require.NoError(t, g.AddEdge("model", "last"))
			require.NoError(t, g.AddEdge("last", compose.END))
			e, err := eino.Compile(t.Context(), g, eino.GraphConfig[[]*schema.Message, *schema.Message]{},
				compose.WithCheckPointStore(eino.Checkpoints()))
			require.NoError(t, err)
			s := enginetest.NewTalk(t, e)
			s.Turn.Mode = fsm.ModeAuto
			o, err := e.RunTurn(ctx, s.Next("hello"), s)
			require.Error(t, err)
			require.Equal(t, engine.Usage{InputTokens: 10, OutputTokens: 3}, o.Usage)
		})
	}
}

// speaker is an agent that says one text in each turn.
type speaker struct {
	scriptedAgent

	texts []string
}

func (a speaker) Run(_ context.Context, in *adk.AgentInput,
	_ ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent] {
	events, out := adk.NewAsyncIteratorPair[*adk.AgentEvent]()
	turn := 0
	for _, m := range in.Messages {
		if m.Role == schema.User {
			turn++
		}
	}
	out.Send(adk.EventFromMessage(schema.AssistantMessage(a.texts[turn-1], nil), nil, schema.Assistant, ""))
	out.Close()
	return events
}

// B4, B10: a finished agent ends the run without a question. A question in its last message, in the
// prompt's form and with the attempt's nonce, is asked.
func TestAgentThatIsDoneEndsTheRun(t *testing.T) {
	const plain = "```ask_user\nkind: open_text\nprompt: Which?\n```\n"
	const signed = "```ask_user n7\nkind: open_text\nprompt: Which?\n```\n"
	for name, c := range map[string]struct {
		ends  eino.Ends
		nonce string
		text  string
		done  bool
	}{
		"a text":                        {text: "Paid.", done: true},
		"no text":                       {text: "", done: true},
		"a marker":                      {text: "Paid.\n" + interaction.DoneMarker, done: true},
		"a question":                    {text: plain},
		"a question with the nonce":     {text: signed, nonce: "n7"},
		"a question without the nonce":  {text: plain, nonce: "n7", done: true},
		"a text that says not done yet": {text: `{"` + interaction.DoneMarker + `": false}`},
		"a text of an agent that talks": {text: "Which?", ends: eino.EndsTurn},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := eino.NewAgent(func(context.Context) (adk.Agent, error) {
				return speaker{texts: []string{c.text, "The end."}}, nil
			}, eino.Config{Ends: c.ends})
			require.NoError(t, err)
			s := enginetest.NewTalk(t, e)
			s.Turn.Nonce = c.nonce
			o := s.Do("Pay.")
			require.Equal(t, c.done, o.Done)
			if !c.done {
				o = s.Do("This one.")
				require.Equal(t, "The end.", o.FinalText, "it is called with the conversation")
				require.Equal(t, c.ends == eino.EndsRun, o.Done)
			}
		})
	}
}
