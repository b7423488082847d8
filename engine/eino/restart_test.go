package eino_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/cloudwego/eino/compose"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/eino"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
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
				run, err := h.Submit(t.Context(), lifecycle.Spec{Prompt: "Pay 5 EUR."})
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
				var r register
				open, dir := s.open(t), t.TempDir()
				serving := func() *host {
					h := newHost(t, open(), newCashier(t, &r, nil, `{"eur":3}`, `{"eur":5}`), dir)
					h.serve(t)
					return h
				}
				h := serving()
				run, err := h.Submit(t.Context(), lifecycle.Spec{Prompt: "Pay."})
				require.NoError(t, err)
				h.parked(t, run.ID)
				for i, which := range order {
					waits, err := h.Get(t.Context(), run.ID)
					require.NoError(t, err)
					require.Len(t, waits.OpenQuestions(), 2-i)
					q := waits.OpenQuestion(which + 1)
					require.NotNil(t, q)
					reply := decisions[string(q.Subject.Arguments)]
					reply.ID, reply.Seen = q.ID, q.Digest()
					_, err = h.Reply(t.Context(), run.ID, reply)
					require.NoError(t, err)
					if i == 0 {
						require.Empty(t, r.rung)
						h.stop()
						h = serving()
					}
				}
				ended, err := h.Wait(t.Context(), run.ID)
				require.NoError(t, err)
				require.Equal(t, fsm.StateSucceeded, ended.State, "%+v", ended.Error)
				require.Equal(t, 2, ended.Attempt)
				require.Equal(t, []string{`{"eur":50}`}, r.rung)
				require.Contains(t, ended.FinalText, "too dear")
			})
		}
	}
}

// E4: the host goes down in the middle of the turn that an answer led to. The next host does that
// turn again, from the checkpoint that the answer was for.
func TestInterruptedTurnIsRepeatedFromItsCheckpoint(t *testing.T) {
	for _, s := range stores {
		t.Run(s.name, func(t *testing.T) {
			var shop till
			begun := make(chan struct{})
			hanging := func(ctx context.Context, sum string) (string, error) {
				if meant, _, _ := compose.GetResumeContext[string](ctx); meant {
					close(begun)
					<-ctx.Done()
					return "", context.Cause(ctx)
				}
				return shop.pay(ctx, sum)
			}
			graph := func(node func(context.Context, string) (string, error)) *eino.Engine {
				g := compose.NewGraph[string, string]()
				require.NoError(t, g.AddLambdaNode("pay", compose.InvokableLambda(node)))
				require.NoError(t, g.AddEdge(compose.START, "pay"))
				require.NoError(t, g.AddEdge("pay", compose.END))
				e, err := eino.Compile(t.Context(), g, eino.GraphConfig[string, string]{})
				require.NoError(t, err)
				return e
			}
			open, dir := s.open(t), t.TempDir()
			first := newHost(t, open(), graph(hanging), dir)
			first.serve(t)
			run, err := first.Submit(t.Context(), lifecycle.Spec{Prompt: "Pay.", Repeatable: true})
			require.NoError(t, err)
			q := first.parked(t, run.ID)
			_, err = first.Reply(t.Context(), run.ID, interaction.Reply{ID: q.ID, Text: "yes"})
			require.NoError(t, err)
			<-begun
			first.stop()

			second := newHost(t, open(), graph(shop.pay), dir)
			second.serve(t)
			ended, err := second.Wait(t.Context(), run.ID)
			require.NoError(t, err)
			require.Equal(t, fsm.StateSucceeded, ended.State, "%+v", ended.Error)
			require.Equal(t, 3, ended.Attempt)
			require.EqualValues(t, 1, shop.paid.Load())
		})
	}
}
