package eino_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/cloudwego/eino/compose"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/eino"
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
				var r register
				open, dir := s.open(t), t.TempDir()
				serving := func() *effecttest.Host {
					return effecttest.Serve(t, open(), newCashier(t, &r, nil, `{"eur":3}`, `{"eur":5}`), dir)
				}
				h := serving()
				run, _ := h.Start(lifecycle.Spec{Prompt: "Pay."})
				for i, which := range order {
					waits, err := h.Get(t.Context(), run.ID)
					require.NoError(t, err)
					require.Len(t, waits.Open, 2-i)
					q := waits.OpenQuestion(which + 1)
					require.NotNil(t, q)
					reply := decisions[string(q.Subject.Arguments)]
					reply.ID, reply.Seen = q.ID, q.Digest()
					_, err = h.Reply(t.Context(), run.ID, reply)
					require.NoError(t, err)
					if i == 0 {
						require.Empty(t, r.rung)
						h.Stop()
						h = serving()
					}
				}
				ended := h.Succeeds(run.ID)
				require.Equal(t, 2, ended.Attempt)
				require.Equal(t, []string{`{"eur":50}`}, r.rung)
				require.Contains(t, ended.FinalText, "too dear")
			})
		}
	}
}

// E4: the host dies during the turn after an answer. The next host repeats the turn from the
// checkpoint for that answer.
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
			first := effecttest.Serve(t, open(), graph(hanging), dir)
			run, q := first.Start(lifecycle.Spec{Prompt: "Pay.", Repeatable: true})
			_, err := first.Reply(t.Context(), run.ID, interaction.Reply{ID: q.ID, Text: "yes"})
			require.NoError(t, err)
			<-begun
			first.Stop()
			require.Equal(t, 3, effecttest.Serve(t, open(), graph(shop.pay), dir).Succeeds(run.ID).Attempt)
			require.EqualValues(t, 1, shop.paid.Load())
		})
	}
}
