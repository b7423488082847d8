package adk_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"google.golang.org/adk/v2/session"

	"github.com/interlude-go/interlude/engine/adk"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// J6: a run is forked at its question, from its checkpoint there: the fork executes what its own
// answer leads to, and its source is as it was.
func TestJ6AForkGoesOnFromTheCheckpointOfItsQuestion(t *testing.T) {
	for name, cfg := range map[string]adk.Config{"session of its own": {},
		"session in the host's service": {Sessions: session.InMemoryService()}} {
		t.Run(name, func(t *testing.T) {
			var shop till
			e, err := adk.New(newClerk(&shop), cfg)
			require.NoError(t, err)
			h := newHost(t, stores[0].open(t)(), e, t.TempDir())
			h.serve(t)
			run, err := h.Submit(t.Context(), lifecycle.Spec{Prompt: "pay 5EUR"})
			require.NoError(t, err)
			q := h.parked(t, run.ID)
			_, err = h.Reply(t.Context(), run.ID, interaction.Reply{ID: q.ID, Text: "no"})
			require.NoError(t, err)
			source, err := h.Wait(t.Context(), run.ID)
			require.NoError(t, err)
			require.Equal(t, fsm.StateSucceeded, source.State, "%+v", source.Error)
			require.Zero(t, shop.paid.Load())

			for i, reply := range []string{"yes", "", "yes"} { // "": the fork asks the approval again (N11)
				at := lifecycle.At{ID: fmt.Sprint("f", i), Question: q.ID, Answer: lifecycle.Reply{Text: reply}}
				fork, err := h.Fork(t.Context(), run.ID, at)
				require.NoError(t, err)
				attempts := 1
				if reply == "" {
					again := h.parked(t, fork.ID)
					_, err = h.Reply(t.Context(), fork.ID, interaction.Reply{ID: again.ID, Text: "no"})
					require.NoError(t, err)
					attempts = 2
				}
				ended, err := h.Wait(t.Context(), fork.ID)
				require.NoError(t, err)
				require.Equal(t, fsm.StateSucceeded, ended.State, "%+v", ended.Error)
				require.EqualValues(t, (i+2)/2, shop.paid.Load())
				require.Equal(t, attempts, ended.Attempt)
			}
			now, err := h.Get(t.Context(), run.ID)
			require.NoError(t, err)
			require.Equal(t, source, now)
		})
	}
}
