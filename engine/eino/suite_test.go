package eino_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/eino"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/interaction"
)

// scriptedGraph is a graph of one node that performs its input's steps and interrupts to ask; its
// state has the inputs.
func scriptedGraph() *compose.Graph[string, eino.Result] {
	g := compose.NewGraph[string, eino.Result]()
	node := compose.InvokableLambda(func(ctx context.Context, in string) (eino.Result, error) {
		inputs := []string{in}
		if _, kept, before := compose.GetInterruptState[[]string](ctx); kept {
			_, _, answer := compose.GetResumeContext[string](ctx)
			inputs = slices.Concat(before, []string{answer})
		}
		turn, _ := eino.Turn(ctx)
		end, err := enginetest.Perform(ctx, inputs, turn.ArtifactDir, eino.Say)
		if err != nil {
			return eino.Result{}, err
		}
		if end.Question != "" {
			return eino.Result{}, compose.StatefulInterrupt(ctx, interaction.Question{Kind: interaction.OpenText,
				Prompt: end.Question}, inputs)
		}
		return eino.Result{Text: end.Text, Output: end.Output}, nil
	})
	for _, err := range []error{
		g.AddLambdaNode("agent", node), g.AddEdge(compose.START, "agent"), g.AddEdge("agent", compose.END),
	} {
		if err != nil {
			panic(err)
		}
	}
	return g
}

// B1, B2, B4, B10, B11, D5, E2, I2, I6, I11: an engine of a graph passes the suite.
func TestGraphPassesTheSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Harness{New: func(tb testing.TB, dir string) engine.Engine {
		tb.Helper()
		e, err := eino.Compile(tb.Context(), scriptedGraph(), eino.GraphConfig[string, eino.Result]{
			Config: eino.Config{Dir: filepath.Join(dir, "checkpoints"), Ends: eino.EndsTurn},
			Output: func(_ context.Context, r eino.Result) (eino.Result, error) { return r, nil },
		})
		require.NoError(tb, err)
		return e
	}})
}

// scriptedAgent does the same as an agent.
type scriptedAgent struct{}

func (scriptedAgent) Name(context.Context) string        { return "scripted" }
func (scriptedAgent) Description(context.Context) string { return "does what it is told" }

func (a scriptedAgent) Run(ctx context.Context, in *adk.AgentInput,
	_ ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent] {
	var inputs []string
	for _, m := range in.Messages {
		if m.Role == schema.User {
			inputs = append(inputs, m.Content)
		}
	}
	return a.play(ctx, inputs)
}

func (a scriptedAgent) Resume(ctx context.Context, info *adk.ResumeInfo,
	_ ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent] {
	before, _ := info.InterruptState.([]string)
	answer, _ := info.ResumeData.(string)
	return a.play(ctx, append(before, answer))
}

func (scriptedAgent) play(ctx context.Context, inputs []string) *adk.AsyncIterator[*adk.AgentEvent] {
	events, out := adk.NewAsyncIteratorPair[*adk.AgentEvent]()
	said := func(text string) *adk.AgentEvent {
		return adk.EventFromMessage(schema.AssistantMessage(text, nil), nil, schema.Assistant, "")
	}
	go func() {
		defer out.Close()
		turn, _ := eino.Turn(ctx)
		end, err := enginetest.Perform(ctx, inputs, turn.ArtifactDir, func(_ context.Context, text string) error {
			out.Send(said(text))
			return nil
		})
		switch {
		case err != nil:
			out.Send(&adk.AgentEvent{Err: err})
		case end.Question != "":
			out.Send(adk.StatefulInterrupt(ctx, interaction.Question{Kind: interaction.OpenText, Prompt: end.Question},
				inputs))
		default:
			ev := said(end.Text)
			if end.Output != nil {
				ev.Output.CustomizedOutput = end.Output
			}
			out.Send(ev)
		}
	}()
	return events
}

func newScripted(context.Context) (adk.Agent, error) { return scriptedAgent{}, nil }

// B1, B2, B4, B10, B11, D5, E2, I2, I6, I11: an engine of an agent passes the suite.
func TestAgentPassesTheSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Harness{New: func(tb testing.TB, dir string) engine.Engine {
		tb.Helper()
		e, err := eino.NewAgent(newScripted, eino.Config{Dir: filepath.Join(dir, "checkpoints")})
		require.NoError(tb, err)
		return e
	}})
}
