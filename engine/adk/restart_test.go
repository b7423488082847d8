package adk_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/interlude-go/interlude/engine/adk"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// C5, C8, I1: many people answer at one time while the host executes; one of them is heard, and the
// tool runs once.
func TestOfManyRepliesOneIsAcceptedAndPaid(t *testing.T) {
	for _, s := range stores {
		for _, e := range engines {
			t.Run(s.name+" "+e.name, func(t *testing.T) {
				var shop till
				h := newHost(t, s.open(t)(), e.make(t, &shop), t.TempDir())
				h.serve(t)
				run, err := h.Submit(t.Context(), lifecycle.Spec{Prompt: "pay 5EUR"})
				require.NoError(t, err)
				q := h.parked(t, run.ID)

				accepted := make(chan interaction.Receipt, 16)
				var all sync.WaitGroup
				for i := range 16 {
					all.Go(func() {
						rcpt, err := h.Reply(t.Context(), run.ID, interaction.Reply{ID: q.ID, Text: "yes",
							Key: string(rune('a' + i))})
						if err == nil {
							accepted <- rcpt
						}
					})
				}
				all.Wait()
				require.Len(t, accepted, 1)
				ended, err := h.Wait(t.Context(), run.ID)
				require.NoError(t, err)
				require.Equal(t, fsm.StateSucceeded, ended.State, "%+v", ended.Error)
				require.EqualValues(t, 1, shop.paid.Load())

				// C5: the same reply again has its first receipt, and no effect.
				again, err := h.Reply(t.Context(), run.ID, interaction.Reply{ID: q.ID, Text: "yes",
					Key: (<-accepted).Key})
				require.NoError(t, err)
				require.True(t, again.Replayed)
				require.EqualValues(t, 1, shop.paid.Load())
			})
		}
	}
}

// K1 K4 I9: an agent calls two tools in one turn. The run parks once with two approvals; one call
// is rejected and the other edited, in either order, and the host dies between the two replies.
// Just the edited arguments are executed, once.
func TestK4HostDiesBetweenTheRepliesToTwoCalls(t *testing.T) {
	for _, s := range stores {
		for _, order := range [][]int{{0, 1}, {1, 0}} {
			t.Run(fmt.Sprint(s.name, order), func(t *testing.T) {
				var shop till
				open, dir := s.open(t), t.TempDir()
				serving := func() *host {
					e, err := adk.New(newClerk(&shop), adk.Config{})
					require.NoError(t, err)
					h := newHost(t, open(), e, dir)
					h.serve(t)
					return h
				}
				h := serving()
				run, err := h.Submit(t.Context(), lifecycle.Spec{Prompt: "pay 3EUR 2EUR"})
				require.NoError(t, err)
				h.parked(t, run.ID)
				for i, which := range order {
					waits, err := h.Get(t.Context(), run.ID)
					require.NoError(t, err)
					require.Len(t, waits.OpenQuestions(), 2-i)
					q := waits.OpenQuestion(which + 1)
					require.NotNil(t, q)
					r := decisions[string(q.Subject.Arguments)]
					r.ID, r.Seen = q.ID, q.Digest()
					_, err = h.Reply(t.Context(), run.ID, r)
					require.NoError(t, err)
					if i == 0 {
						require.Empty(t, shop.sums())
						h.stop()
						h = serving()
					}
				}
				ended, err := h.Wait(t.Context(), run.ID)
				require.NoError(t, err)
				require.Equal(t, fsm.StateSucceeded, ended.State, "%+v", ended.Error)
				require.Equal(t, 2, ended.Attempt)
				require.Equal(t, []string{"20EUR"}, shop.sums())
				require.Contains(t, ended.FinalText, "too dear")
			})
		}
	}
}

// E4: the host goes down in the middle of the turn that an answer led to. The next host does that
// turn again, from the session that the answer was for.
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
			host := func(newAgent func(context.Context) (agent.Agent, error), st store.Store, dir string) *host {
				e, err := adk.New(newAgent, adk.Config{Ends: adk.EndsRun})
				require.NoError(t, err)
				h := newHost(t, st, e, dir)
				h.serve(t)
				return h
			}
			open, dir := s.open(t), t.TempDir()
			first := host(hanging, open(), dir)
			run, err := first.Submit(t.Context(), lifecycle.Spec{Prompt: "Pay.", Repeatable: true})
			require.NoError(t, err)
			q := first.parked(t, run.ID)
			_, err = first.Reply(t.Context(), run.ID, interaction.Reply{ID: q.ID, Text: "yes"})
			require.NoError(t, err)
			<-begun
			first.stop()

			second := host(newOffice(&shop, requesting(session.RequestInput{Message: "Pay 5EUR?"})), open(), dir)
			ended, err := second.Wait(t.Context(), run.ID)
			require.NoError(t, err)
			require.Equal(t, fsm.StateSucceeded, ended.State, "%+v", ended.Error)
			require.Equal(t, 3, ended.Attempt)
			require.EqualValues(t, 1, shop.paid.Load())
		})
	}
}
