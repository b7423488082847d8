package adk_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/parallelagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/adk"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// talk is a run as its engine sees it.
type talk struct{ *enginetest.Talk }

func newTalk(tb testing.TB, newAgent func(context.Context) (agent.Agent, error), cfg adk.Config) talk {
	tb.Helper()
	e, err := adk.New(newAgent, cfg)
	require.NoError(tb, err)
	return talk{enginetest.NewTalk(tb, e)}
}

// asks executes the next turn, which must ask, and returns the prompt.
func (s talk) asks(input string) string {
	s.Helper()
	o := s.Do(input)
	require.Len(s, o.Questions, 1)
	return o.Questions[0].Prompt
}

// says executes the next turn, which must end, and returns the text.
func (s talk) says(inputs ...string) string {
	s.Helper()
	o := s.Do(inputs...)
	require.Empty(s, o.Questions)
	return interaction.Read(o.FinalText, o.Output).Text
}

// services are the places of ADK's sessions.
var services = map[string]func() session.Service{
	"sessions of its own":    func() session.Service { return nil },
	"sessions of the host's": session.InMemoryService,
}

func TestConfirmedToolRuns(t *testing.T) {
	for name, service := range services {
		t.Run(name, func(t *testing.T) {
			var shop till
			s := newTalk(t, newClerk(&shop), adk.Config{Sessions: service()})
			o := s.Do("pay 5EUR")
			require.Len(t, o.Questions, 1)
			q := o.Questions[0]
			require.Equal(t, interaction.Approval, q.Kind)
			require.Equal(t, &interaction.Subject{Tool: "pay", Arguments: json.RawMessage(`{"sum":"5EUR"}`)}, q.Subject)
			require.Equal(t, []interaction.Option{{Label: "Yes", Value: "yes"}, {Label: "No", Value: "no"}}, q.Options)
			require.Contains(t, q.Context, `pay {"sum":"5EUR"}`)
			require.Equal(t, interaction.SafeDefault, q.DefaultPolicy)
			require.Empty(t, o.FinalText)
			require.Equal(t, []string{"I shall ask first."}, s.Messages())
			require.Equal(t, engine.Usage{InputTokens: 10, OutputTokens: 3}, o.Usage)
			require.Zero(t, shop.paid.Load())

			require.Contains(t, s.asks("maybe, what is it for?"), "Please answer yes or no.")
			require.Zero(t, shop.paid.Load(), "what is unclear is asked again")
			require.Contains(t, s.says("Yes."), "paid 5EUR")
			require.EqualValues(t, 1, shop.paid.Load())
		})
	}
}

func TestRefusedToolDoesNotRun(t *testing.T) {
	var shop till
	s := newTalk(t, newClerk(&shop), adk.Config{})
	s.Do("pay 5EUR")
	require.Contains(t, s.says("no"), "rejected")

	// C6: no answer is no consent.
	s = newTalk(t, newClerk(&shop), adk.Config{})
	q := s.Do("pay 5EUR").Questions[0]
	auto := interaction.NewAutoDecision(q)
	turn := s.Next("")
	turn.Answers = []interaction.Answer{{ID: 1, Resolution: interaction.AutoDecideTimeout, Text: auto.Instruction,
		Auto: &auto, Ref: q.Ref}}
	o, err := s.Engine.RunTurn(t.Context(), turn, s)
	require.NoError(t, err)
	require.Contains(t, o.FinalText, "rejected")
	require.Zero(t, shop.paid.Load())
}

// K1: several waiting calls are asked about together, and the agent continues when it has all
// answers. An unclear answer is asked again separately.
func TestK1QuestionsOfSeveralToolsAreAskedTogether(t *testing.T) {
	for name, service := range services {
		t.Run(name, func(t *testing.T) {
			var shop till
			s := newTalk(t, newClerk(&shop), adk.Config{Sessions: service()})
			questions := s.Do("pay 1EUR 2EUR 3EUR").Questions
			require.Len(t, questions, 3)
			for i, sum := range []string{"1EUR", "2EUR", "3EUR"} {
				require.Contains(t, questions[i].Context, sum)
			}
			again := s.Do("yes", "no", "perhaps").Questions
			require.Len(t, again, 1)
			require.Equal(t, questions[2].Ref, again[0].Ref)
			require.Contains(t, again[0].Prompt, "Please answer yes or no.")
			require.Zero(t, shop.paid.Load())
			said := s.says("yes")
			require.Contains(t, said, "paid 1EUR")
			require.Contains(t, said, "paid 3EUR")
			require.NotContains(t, said, "paid 2EUR")
			require.EqualValues(t, 2, shop.paid.Load())
		})
	}
}

func TestLongRunningToolGetsItsResultFromAPerson(t *testing.T) {
	var shop till
	s := newTalk(t, newClerk(&shop), adk.Config{})
	q := s.Do("approve 5EUR").Questions[0]
	require.Equal(t, interaction.OpenText, q.Kind)
	require.Contains(t, q.Prompt, "approve")
	require.Contains(t, q.Context, "5EUR")
	require.Equal(t, "granted by Ada", s.says("granted by Ada"))
}

func TestInterimResultOfALongRunningToolIsShown(t *testing.T) {
	var shop till
	s := newTalk(t, newClerk(&shop), adk.Config{})
	q := s.Do("ticket 5EUR").Questions[0]
	require.Contains(t, q.Context, `so far: {"status":"pending"}`)
	require.Contains(t, s.says("closed"), "closed")
}

// An agent that ends its turn with a text continues in the same conversation.
func TestAgentGetsTheEarlierConversation(t *testing.T) {
	for name, service := range services {
		t.Run(name, func(t *testing.T) {
			var shop till
			s := newTalk(t, newClerk(&shop), adk.Config{Sessions: service()})
			require.Equal(t, "1 messages so far. What shall I pay?", s.says("hello"))
			require.Equal(t, "3 messages so far. What shall I pay?", s.says("hello again"))
			s.Do("pay 5EUR")
			require.Contains(t, s.says("yes"), "paid 5EUR")
			require.Regexp(t, `^\d+ messages so far`, s.says("hello once more"))
			s.Do("pay 6EUR")
			require.Contains(t, s.says("yes"), "paid 6EUR")
			require.EqualValues(t, 2, shop.paid.Load())
		})
	}
}

// asking is a workflow node that requests input.
type asking struct {
	workflow.BaseNode
	request session.RequestInput
}

// Run asks.
func (n *asking) Run(ctx agent.Context, _ any) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		yield(workflow.NewRequestInputEvent(ctx, n.request), nil)
	}
}

func requesting(r session.RequestInput) func() workflow.Node {
	return func() workflow.Node {
		return &asking{BaseNode: workflow.NewBaseNode("ask", "asks", workflow.NodeConfig{}), request: r}
	}
}

func TestWorkflowNodeGetsItsInputFromAPerson(t *testing.T) {
	for name, c := range map[string]struct {
		request session.RequestInput
		asked   interaction.Question
		unclear string
		answer  string
		want    string
	}{
		"text": {
			session.RequestInput{Message: "How much?"},
			interaction.Question{Kind: interaction.OpenText, Prompt: "How much?"}, "", "5", "paid 5 (string)",
		},
		"a number": {
			session.RequestInput{Message: "How much?", ResponseSchema: &jsonschema.Schema{Type: "number"}},
			interaction.Question{Kind: interaction.OpenText, Prompt: "How much?"}, "a lot", "5", "paid 5 (float64)",
		},
		"yes or no": {
			session.RequestInput{Message: "Pay?", ResponseSchema: &jsonschema.Schema{Type: "boolean"}},
			interaction.Question{Kind: interaction.OpenText, Prompt: "Pay?"}, "perhaps", "yes", "paid true (bool)",
		},
		"a question": {
			session.RequestInput{Payload: interaction.Question{Kind: interaction.Confirm, Prompt: "Pay?"}},
			interaction.Question{Kind: interaction.Confirm, Prompt: "Pay?"}, "", "yes", "paid yes (string)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var shop till
			s := newTalk(t, newOffice(&shop, requesting(c.request)), adk.Config{Ends: adk.EndsRun})
			q := s.Do("Pay.").Questions[0]
			require.Equal(t, string(c.asked.Kind)+" "+c.asked.Prompt, string(q.Kind)+" "+q.Prompt)
			if c.unclear != "" {
				require.Contains(t, s.asks(c.unclear), "Please answer with what fits")
			}
			o := s.Do(c.answer)
			read := interaction.Read(o.FinalText, o.Output)
			require.Equal(t, c.want, read.Text)
			require.True(t, read.Done || o.Done)
			require.EqualValues(t, 1, shop.paid.Load())
		})
	}
}

// E4, I2: concurrent attempts of a turn start from the same session, and each leaves its own.
func TestConcurrentAttemptsDoNotShareASession(t *testing.T) {
	for name, service := range services {
		t.Run(name, func(t *testing.T) {
			var shop till
			s := newTalk(t, newClerk(&shop), adk.Config{Sessions: service()})
			s.Do("pay 5EUR")
			before := s.Next("no")
			outcomes := make([]engine.Outcome, 4)
			var all sync.WaitGroup
			for i := range outcomes {
				turn := before
				turn.Epoch += uint64(i)
				all.Go(func() { outcomes[i], _ = s.Engine.RunTurn(t.Context(), turn, &enginetest.Recorder{}) })
			}
			all.Wait()
			for _, o := range outcomes {
				require.Contains(t, o.FinalText, "rejected")
				require.NoError(t, s.Engine.(engine.Checker).Check(t.Context(), "r1", *o.Session))
			}
			s.Turn.Session = outcomes[0].Session
			s.Do("pay 6EUR")
			require.Contains(t, s.says("yes"), "paid 6EUR")
			require.EqualValues(t, 1, shop.paid.Load())
		})
	}
}

// E2: a session that is gone or of another revision, in the run's folder and in the host's service.
func TestUnusableSessionIsSessionResumeFailed(t *testing.T) {
	var shop till
	t.Run("gone", func(t *testing.T) {
		s := newTalk(t, newClerk(&shop), adk.Config{})
		s.Do("pay 5EUR")
		require.NoError(t, os.RemoveAll(filepath.Join(s.Turn.HomeDir, "checkpoints")))
		require.ErrorIs(t, s.Engine.(engine.Checker).Check(t.Context(), "r1", *s.Turn.Session), engine.ErrHandleRefused)
		require.Equal(t, fsm.CodeSessionResumeFailed, s.Fails("yes").Code)
	})
	t.Run("gone from the host's service", func(t *testing.T) {
		s := newTalk(t, newClerk(&shop), adk.Config{Sessions: session.InMemoryService()})
		s.Do("pay 5EUR")
		forgetful := newTalk(t, newClerk(&shop), adk.Config{Sessions: session.InMemoryService()})
		forgetful.Turn = s.Turn
		require.Equal(t, fsm.CodeSessionResumeFailed, forgetful.Fails("yes").Code)
	})
	t.Run("another revision", func(t *testing.T) {
		s := newTalk(t, newClerk(&shop), adk.Config{Revision: "1"})
		s.Do("pay 5EUR")
		newer := newTalk(t, newClerk(&shop), adk.Config{Revision: "2"})
		newer.Turn = s.Turn
		require.Equal(t, fsm.CodeSessionResumeFailed, newer.Fails("yes").Code)
	})
	require.Zero(t, shop.paid.Load())
}

// The host's service keeps a run's current session and the previous one, and no others.
func TestOldSessionsAreDeleted(t *testing.T) {
	var shop till
	service := session.InMemoryService()
	s := newTalk(t, newClerk(&shop), adk.Config{Sessions: service})
	for range 8 {
		s.Do("hello")
	}
	kept, err := service.List(t.Context(), &session.ListRequest{AppName: "interlude", UserID: "user"})
	require.NoError(t, err)
	require.Len(t, kept.Sessions, 3)
}

// A6: an automatic run asks no one.
func TestInterruptFailsAnAutomaticRun(t *testing.T) {
	var shop till
	s := newTalk(t, newClerk(&shop), adk.Config{})
	s.Turn.Mode = fsm.ModeAuto
	require.Contains(t, s.Fails("pay 5EUR").Detail, "asks no one")
}

// K4: the executed number is the one shown, also after a restart: no digit is lost.
func TestToolGetsTheExactNumberThatWasShown(t *testing.T) {
	const large = 9007199254740993 // no float64
	for name, service := range services {
		t.Run(name, func(t *testing.T) {
			var got []int64
			s := newTalk(t, newCaller(&got, call("1", large)), adk.Config{Sessions: service()})
			q := s.Do("go").Questions[0]
			require.Contains(t, q.Context, "9007199254740993")
			s.says("yes")
			require.Equal(t, []int64{large}, got)
		})
	}
}

// K4: two calls with one id are two questions, and each answer holds for its own call.
func TestCallsWithOneIDAreApprovedSeparately(t *testing.T) {
	for answers, want := range map[[2]string][]int64{
		{"yes", "yes"}: {1, 2}, {"yes", "no"}: {1}, {"no", "yes"}: {2}, {"no", "no"}: nil,
	} {
		var got []int64
		s := newTalk(t, newCaller(&got, call("same", 1), call("same", 2)), adk.Config{})
		questions := s.Do("go").Questions
		require.Len(t, questions, 2)
		require.Contains(t, questions[0].Context, `{"n":1}`)
		require.Contains(t, questions[1].Context, `{"n":2}`)
		s.says(answers[0], answers[1])
		slices.Sort(got)
		require.Equal(t, want, got, answers)
	}
}

// K4: the approved arguments are visible; if a question cannot show all, an artifact does.
func TestConfirmationShowsInvisibleCharacters(t *testing.T) {
	var got []int64
	hidden := call("1", 1)
	hidden.Args["why"] = strings.Repeat(" ", 4000) + "\u202e; rm -rf /"
	s := newTalk(t, newCaller(&got, hidden), adk.Config{})
	require.Contains(t, s.Do("go").Questions[0].Context, `[4000 white-space characters]\u{202E}; rm -rf /`)

	hidden.Args["why"] = strings.Repeat("x", 50<<10) + "; rm -rf /" + strings.Repeat("y", 50<<10)
	s = newTalk(t, newCaller(&got, hidden), adk.Config{})
	require.Contains(t, s.Fails("go").Error(), "too long to show")

	s = newTalk(t, newCaller(&got, hidden), adk.Config{})
	s.Turn.ArtifactDir = t.TempDir()
	require.Regexp(t, `(?s)all \d+ bytes are in the artifact question-1-\w+\.txt .*more bytes are not shown`,
		s.Do("go").Questions[0].Context)
	files, err := filepath.Glob(filepath.Join(s.Turn.ArtifactDir, "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	body, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.Contains(t, string(body), "; rm -rf /")
	require.NoError(t, os.WriteFile(files[0], []byte("ls"), 0o600))
	require.Contains(t, s.asks("yes"), "it can only be refused")
	require.Empty(t, got)
	s.says("no")
	require.Empty(t, got)
}

// J10: with Guard, a panic of an agent in a goroutine of ADK ends the turn, not the host.
func TestGuardTurnsAPanicIntoAFailure(t *testing.T) {
	wild := func(name string) agent.Agent {
		a, err := agent.New(agent.Config{Name: name, Run: func(agent.InvocationContext) iter.Seq2[*session.Event,
			error] {
			return func(func(*session.Event, error) bool) { panic("out of paper") }
		}})
		require.NoError(t, err)
		return a
	}
	s := newTalk(t, func(context.Context) (agent.Agent, error) {
		guarded, err := adk.Guard(wild("one"))
		require.NoError(t, err)
		return parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{Name: "all",
			SubAgents: []agent.Agent{guarded}}})
	}, adk.Config{})
	f := s.Fails("go")
	require.Equal(t, fsm.CodeEngineFailed, f.Code)
	require.ErrorContains(t, f, "out of paper")
}

// tired is a model whose provider refuses every request in the same words.
type tired struct{ clerk }

func (m tired) GenerateContent(context.Context, *model.LLMRequest, bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		yield(nil, errors.New("Error 503, Message: The model is overloaded., Status: UNAVAILABLE"))
	}
}

// J2: the model provider's error text decides whether the failure is transient.
func TestOverloadedModelIsAPassingFailure(t *testing.T) {
	s := newTalk(t, func(context.Context) (agent.Agent, error) {
		return llmagent.New(llmagent.Config{Name: "tired", Description: "waits", Model: tired{}})
	}, adk.Config{})
	f := s.Fails("go")
	require.Equal(t, fsm.CodeEngineFailed, f.Code)
	require.True(t, f.Transient, f.Error())
}

// J13: a turn that fails after its model was asked reports the tokens, whether the agent fails or
// panics, the turn is ended, or no one can be asked.
func TestFailedTurnHandsOverItsUsage(t *testing.T) {
	for name, last := range map[string]func(stop func()) error{
		"an error": func(func()) error { return errors.New("out of paper") },
		"a panic":  func(func()) error { panic("out of paper") },
		"a turn that is ended": func(stop func()) error {
			stop()
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			s := newTalk(t, func(context.Context) (agent.Agent, error) {
				clerk, err := llmagent.New(llmagent.Config{Name: "clerk", Description: "pays", Model: clerk{}})
				require.NoError(t, err)
				run := func(c agent.InvocationContext) iter.Seq2[*session.Event, error] {
					return func(yield func(*session.Event, error) bool) {
						for ev, err := range clerk.Run(c) {
							if !yield(ev, err) {
								return
							}
						}
						if err := last(stop); err != nil {
							yield(nil, err)
						}
					}
				}
				a, err := agent.New(agent.Config{Name: "all", Run: run})
				require.NoError(t, err)
				return adk.Guard(a)
			}, adk.Config{})
			o, err := s.Engine.RunTurn(ctx, s.Next("hello"), s)
			require.Error(t, err)
			require.Equal(t, engine.Usage{InputTokens: 10, OutputTokens: 3}, o.Usage)
		})
	}
	t.Run("a question in an automatic run", func(t *testing.T) {
		var shop till
		s := newTalk(t, newClerk(&shop), adk.Config{})
		s.Turn.Mode = fsm.ModeAuto
		o, err := s.Engine.RunTurn(t.Context(), s.Next("pay 5EUR"), s)
		require.Error(t, err)
		require.Equal(t, engine.Usage{InputTokens: 10, OutputTokens: 3}, o.Usage)
	})
}

// N2: a form with an unusable schema is refused before anything is stored or asked.
func TestN2AnUnusableSchemaIsRefused(t *testing.T) {
	var shop till
	s := newTalk(t, newClerk(&shop), adk.Config{Question: func(adk.Interrupt) interaction.Question {
		return interaction.Question{Prompt: "?", Schema: []byte(`{"type":"objekt"}`)}
	}})
	f := s.Fails("pay 5EUR")
	require.Equal(t, fsm.CodeEngineFailed, f.Code)
	require.True(t, f.Repairable)
	require.ErrorIs(t, f, interaction.ErrSchema)
}
