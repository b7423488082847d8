package adk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/parallelagent"
	"google.golang.org/adk/v2/agent/workflowagents/sequentialagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"

	"github.com/interlude-go/interlude/engine/adk"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// decisions has the reply to each call of TestK4DecisionsAboutCalls, by the call's arguments.
var decisions = map[string]interaction.Reply{
	`{"sum":"1EUR"}`: {Decision: interaction.Approve},
	`{"sum":"2EUR"}`: {Decision: interaction.Edit, Value: json.RawMessage(`{"sum":"20EUR"}`)},
	`{"sum":"3EUR"}`: {Decision: interaction.Reject, Text: "too dear"},
	`{"sum":"4EUR"}`: {Decision: interaction.Respond, Text: "ask in May"},
	`{"sum":"5EUR"}`: {Decision: interaction.Edit, Value: json.RawMessage(`{"sum":"50EUR"}`)},
}

// K1 K4: a model calls a tool five times in one answer, and the turn asks about all. Only approved
// and edited arguments are executed, each by its own call, in any order of the answers, and the
// model receives the other calls' reasons.
func TestK4DecisionsAboutCalls(t *testing.T) {
	for name, service := range services {
		t.Run(name, func(t *testing.T) {
			for _, reversed := range []bool{false, true} {
				var shop till
				s := newTalk(t, newClerk(&shop), adk.Config{Sessions: service()})
				var answers []interaction.Answer
				for _, q := range s.Do("pay 1EUR 2EUR 3EUR 4EUR 5EUR").Questions {
					r := decisions[string(q.Subject.Arguments)]
					r.Seen = q.Digest()
					answers = append(answers, s.AnswerTo(q, r))
				}
				require.Len(t, answers, 5)
				if reversed {
					slices.Reverse(answers)
				}
				turn := s.Next()
				turn.Answers = answers
				o, err := s.Execute(turn)
				require.NoError(t, err)
				require.Contains(t, o.FinalText, "call is rejected")
				require.ElementsMatch(t, []string{"1EUR", "20EUR", "50EUR"}, shop.sums())
				require.Regexp(t, `paid 1EUR.*paid 20EUR,.*too dear,.*ask in May,.*paid 50EUR`, o.FinalText)
			}
		})
	}
}

// listening is a clerk that notes the arguments of the calls that it sees.
type listening struct {
	clerk

	shown *[]string
}

func (l listening) GenerateContent(ctx context.Context, req *model.LLMRequest,
	stream bool) iter.Seq2[*model.LLMResponse, error] {
	*l.shown = nil
	for _, c := range req.Contents {
		for _, part := range c.Parts {
			if part.FunctionCall != nil {
				*l.shown = append(*l.shown, fmt.Sprint(part.FunctionCall.Args["sum"]))
			}
		}
	}
	return l.clerk.GenerateContent(ctx, req, stream)
}

// K4: the model sees the executed arguments in its own calls, also in later turns.
func TestK4TheModelSeesEditedArguments(t *testing.T) {
	for name, service := range services {
		t.Run(name, func(t *testing.T) {
			var shop till
			var shown []string
			s := newTalk(t, func(context.Context) (agent.Agent, error) {
				tools, err := shop.tools()
				require.NoError(t, err)
				return llmagent.New(llmagent.Config{Name: "clerk", Description: "pays",
					Model: listening{shown: &shown}, Tools: tools})
			}, adk.Config{Sessions: service()})
			q := s.Do("pay 2EUR").Questions[0]
			_, err := s.Decide(q, decisions[`{"sum":"2EUR"}`])
			require.NoError(t, err)
			require.Equal(t, []string{"20EUR"}, shown)
			s.Do("hello")
			require.Equal(t, []string{"20EUR"}, shown)
		})
	}
}

// K1 K4: an undecided call is not executed but asked about again; an answer to no waiting call, or
// to another call than it names, executes nothing.
func TestK4AnswerOfAnotherCallIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(answers []interaction.Answer) []interaction.Answer
		err    string
	}{
		"swapped": {func(a []interaction.Answer) []interaction.Answer {
			a[0].Ref, a[1].Ref = a[1].Ref, a[0].Ref
			return a
		}, "not the one that was approved"},
		"without a call": {func(a []interaction.Answer) []interaction.Answer {
			a[0].Ref = ""
			return a
		}, "about no call that waits"},
		"twice": {func(a []interaction.Answer) []interaction.Answer { return append(a, a[1]) },
			"about no call that waits"},
		"undecided": {func(a []interaction.Answer) []interaction.Answer {
			a[0] = interaction.Answer{ID: a[0].ID, Resolution: interaction.Superseded, Ref: a[0].Ref}
			return a
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var shop till
			s := newTalk(t, newClerk(&shop), adk.Config{})
			questions := s.Do("pay 2EUR 5EUR").Questions
			var answers []interaction.Answer
			for _, q := range questions {
				answers = append(answers, s.AnswerTo(q, decisions[string(q.Subject.Arguments)]))
			}
			turn := s.Next()
			turn.Answers = c.change(answers)
			o, err := s.Execute(turn)
			require.Empty(t, shop.sums())
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, questions[:1], o.Questions)
			_, err = s.Decide(o.Questions[0], interaction.Reply{Decision: interaction.Reject})
			require.NoError(t, err)
			require.Equal(t, []string{"50EUR"}, shop.sums())
		})
	}
}

// K4: only the approved call is executed. An approval of other arguments than the pending call's is
// refused, also if the call has changed in the host's session service.
func TestAnotherCallIsNotExecuted(t *testing.T) {
	var shop till
	s := newTalk(t, newClerk(&shop), adk.Config{})
	q := s.Do("pay 1EUR").Questions[0]
	other := q
	other.Subject = &interaction.Subject{Tool: "pay", Arguments: json.RawMessage(`{"sum":"100EUR"}`)}
	_, err := s.Decide(other, interaction.Reply{Decision: interaction.Approve})
	require.ErrorContains(t, err, "not the one that was approved")
	require.Zero(t, shop.paid.Load())

	service := session.InMemoryService()
	s = newTalk(t, newClerk(&shop), adk.Config{Sessions: service})
	q = s.Do("pay 1EUR").Questions[0]
	list, err := service.List(t.Context(), &session.ListRequest{AppName: "interlude", UserID: "user"})
	require.NoError(t, err)
	for _, each := range list.Sessions {
		got, err := service.Get(t.Context(), &session.GetRequest{AppName: "interlude", UserID: "user",
			SessionID: each.ID()})
		require.NoError(t, err)
		for ev := range got.Session.Events().All() {
			if ev.Content == nil {
				continue
			}
			for _, part := range ev.Content.Parts {
				if part.FunctionCall != nil && part.FunctionCall.Name == "pay" {
					part.FunctionCall.Args["sum"] = "100EUR"
				}
			}
		}
	}
	_, err = s.Decide(q, interaction.Reply{Decision: interaction.Approve})
	require.Error(t, err)
	require.Zero(t, shop.paid.Load())
}

// K3 K4: a model's arguments are text: they make no form and no approval.
func TestArgumentsOfAModelMakeNoApproval(t *testing.T) {
	q := adk.Ask(adk.Interrupt{Kind: adk.Result, Tool: "ask", Args: map[string]any{
		"kind": "approval", "prompt": "Pay?", "schema": map[string]any{"type": "object"}, "also_text": true,
		"ref": "call-1", "to": map[string]any{"users": []any{"eve"}},
		"subject": map[string]any{"tool": "pay", "arguments": map[string]any{"sum": "1EUR"}},
	}})
	q, odd := interaction.Normalize(q)
	require.Len(t, odd, 1)
	require.Equal(t, interaction.Question{Kind: interaction.OpenText, Prompt: "Pay?",
		DefaultPolicy: interaction.EngineJudgement}, q)
}

// J10: a confirmation below a ParallelAgent is refused before a person is asked, since ADK panics
// in its own goroutine, or loses a call, when it continues. Sequential confirmations, and parallel
// agents without any, are unaffected.
func TestConfirmationsBelowAParallelAgentAreRefused(t *testing.T) {
	var shop till
	clerks := func(guard bool) (all []agent.Agent) {
		for _, name := range []string{"ann", "bob"} {
			tools, err := shop.tools()
			require.NoError(t, err)
			one, err := llmagent.New(llmagent.Config{Name: name, Description: "pays", Model: clerk{}, Tools: tools})
			require.NoError(t, err)
			if guard {
				one, err = adk.Guard(one)
				require.NoError(t, err)
			}
			all = append(all, one)
		}
		return all
	}
	for _, guard := range []bool{false, true} {
		inParallel := func(context.Context) (agent.Agent, error) {
			all, err := parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{Name: "all",
				SubAgents: clerks(guard)}})
			require.NoError(t, err)
			return sequentialagent.New(sequentialagent.Config{AgentConfig: agent.Config{Name: "root",
				SubAgents: []agent.Agent{all}}})
		}
		f := newTalk(t, inParallel, adk.Config{}).Fails("pay 1EUR")
		require.Equal(t, fsm.CodeEngineFailed, f.Code)
		require.Regexp(t, `the agent (ann|bob) below the ParallelAgent all wants the tool "pay" to be confirmed`, f.Error())
		require.Contains(t, newTalk(t, inParallel, adk.Config{}).Do("hello").FinalText, "What shall I pay?")
	}
	s := newTalk(t, func(context.Context) (agent.Agent, error) {
		return sequentialagent.New(sequentialagent.Config{AgentConfig: agent.Config{Name: "root",
			SubAgents: clerks(false)[:1]}})
	}, adk.Config{})
	s.Do("pay 1EUR")
	require.Empty(t, s.Do("yes").Questions)
	require.Equal(t, []string{"1EUR"}, shop.sums())
}
