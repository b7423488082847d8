package adk_test

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/adk"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/interaction"
)

// scriptedAgent performs its input's steps, and requests input to ask.
func scriptedAgent(context.Context) (agent.Agent, error) {
	return agent.New(agent.Config{Name: "scripted", Run: func(ctx agent.InvocationContext) iter.Seq2[*session.Event,
		error] {
		return func(yield func(*session.Event, error) bool) {
			said := func(text string) *session.Event {
				ev := session.NewEvent(ctx, ctx.InvocationID())
				ev.Author, ev.Content = "scripted", genai.NewContentFromText(text, genai.RoleModel)
				return ev
			}
			turn, _ := adk.Turn(ctx)
			say := func(_ context.Context, text string) error {
				if !yield(said(text), nil) {
					return errUnheard
				}
				return nil
			}
			end, err := enginetest.Perform(ctx, inputsOf(ctx.Session()), turn.ArtifactDir, say)
			switch {
			case errors.Is(err, errUnheard):
			case err != nil:
				yield(nil, err)
			case end.Question != "":
				q := interaction.Question{Kind: interaction.OpenText, Prompt: end.Question}
				yield(workflow.NewRequestInputEvent(ctx, session.RequestInput{Payload: q}), nil)
			default:
				ev := said(end.Text)
				if end.Output != nil {
					ev.Output = end.Output
				}
				yield(ev, nil)
			}
		}
	}})
}

// errUnheard: the agent's events are no longer received.
var errUnheard = errors.New("unheard")

// inputsOf are the person's texts in the session.
func inputsOf(s session.Session) []string {
	var inputs []string
	for ev := range s.Events().All() {
		if ev.Author != "user" {
			continue
		}
		for _, part := range ev.Content.Parts {
			if part.FunctionResponse != nil {
				text, _ := part.FunctionResponse.Response["response"].(string)
				inputs = append(inputs, text)
			} else {
				inputs = append(inputs, part.Text)
			}
		}
	}
	return inputs
}

// B1, B2, B4, B10, B11, D5, E2, I2, I6, I11: an engine of an agent passes the suite, with sessions
// in the run's folder and in a host's service.
func TestAgentPassesTheSuite(t *testing.T) {
	for name, service := range map[string]func() session.Service{
		"sessions of its own":    func() session.Service { return nil },
		"sessions of the host's": session.InMemoryService,
	} {
		t.Run(name, func(t *testing.T) {
			enginetest.Run(t, enginetest.Harness{New: func(tb testing.TB, dir string) engine.Engine {
				tb.Helper()
				e, err := adk.New(scriptedAgent, adk.Config{Dir: filepath.Join(dir, "sessions"), Sessions: service()})
				require.NoError(tb, err)
				return e
			}})
		})
	}
}
