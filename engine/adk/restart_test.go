package adk_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/interlude-go/interlude/engine/adk"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/lifecycle/effecttest"
)

// K1 K4 I9: an agent calls two tools in one turn. The run parks once with two approvals; one call
// is rejected and the other edited, in either order, and the host dies between the replies. Only
// the edited arguments are executed, once.
func TestK4HostDiesBetweenTheRepliesToTwoCalls(t *testing.T) {
	for _, s := range stores {
		for _, order := range [][]int{{0, 1}, {1, 0}} {
			t.Run(fmt.Sprint(s.name, order), func(t *testing.T) {
				var shop till
				open, dir := s.open(t), t.TempDir()
				newEngine := making(t, newClerk(&shop), adk.Config{})
				serving := func() *effecttest.Host { return effecttest.Serve(t, open(), newEngine(), dir) }
				h := serving()
				run, _ := h.Start(lifecycle.Spec{Prompt: "pay 3EUR 2EUR"})
				for i, which := range order {
					waits, err := h.Get(t.Context(), run.ID)
					require.NoError(t, err)
					require.Len(t, waits.Open, 2-i)
					q := waits.OpenQuestion(which + 1)
					require.NotNil(t, q)
					r := decisions[string(q.Subject.Arguments)]
					r.ID, r.Seen = q.ID, q.Digest()
					_, err = h.Reply(t.Context(), run.ID, r)
					require.NoError(t, err)
					if i == 0 {
						require.Empty(t, shop.sums())
						h.Stop()
						h = serving()
					}
				}
				ended := h.Succeeds(run.ID)
				require.Equal(t, 2, ended.Attempt)
				require.Equal(t, []string{"20EUR"}, shop.sums())
				require.Contains(t, ended.FinalText, "too dear")
			})
		}
	}
}

// E4: the host dies during the turn after an answer. The next host repeats the turn from the
// session for that answer.
func TestInterruptedTurnIsRepeatedFromItsSession(t *testing.T) {
	for _, s := range stores {
		t.Run(s.name, func(t *testing.T) {
			var shop till
			begun := make(chan struct{})
			hanging := func(ctx context.Context) (agent.Agent, error) {
				ask := requesting(session.RequestInput{Message: "Pay 5EUR?"})()
				hang := workflow.NewFunctionNode("pay", func(ctx agent.Context, _ any) (string, error) {
					close(begun)
					<-ctx.Done()
					return "", context.Cause(ctx)
				}, workflow.NodeConfig{})
				return workflowagent.New(workflowagent.Config{Name: "office", Edges: workflow.Chain(workflow.Start, ask,
					hang)})
			}
			open, dir := s.open(t), t.TempDir()
			first := effecttest.Serve(t, open(), making(t, hanging, adk.Config{Ends: adk.EndsRun})(), dir)
			run, q := first.Start(lifecycle.Spec{Prompt: "Pay.", Repeatable: true})
			_, err := first.Reply(t.Context(), run.ID, interaction.Reply{ID: q.ID, Text: "yes"})
			require.NoError(t, err)
			<-begun
			first.Stop()
			office := newOffice(&shop, requesting(session.RequestInput{Message: "Pay 5EUR?"}))
			second := effecttest.Serve(t, open(), making(t, office, adk.Config{Ends: adk.EndsRun})(), dir)
			require.Equal(t, 3, second.Succeeds(run.ID).Attempt)
			require.EqualValues(t, 1, shop.paid.Load())
		})
	}
}
