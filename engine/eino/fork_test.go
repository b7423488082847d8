package eino_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// J6: a run is forked at its question, from its checkpoint there: the fork executes what its own
// answer leads to, and its source is as it was.
func TestJ6AForkGoesOnFromTheCheckpointOfItsQuestion(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			var shop till
			h := newHost(t, stores[0].open(t)(), e.make(t, &shop), t.TempDir())
			h.serve(t)
			run, err := h.Submit(t.Context(), lifecycle.Spec{Prompt: "Pay 5 EUR."})
			require.NoError(t, err)
			q := h.parked(t, run.ID)
			_, err = h.Reply(t.Context(), run.ID, interaction.Reply{ID: q.ID, Text: "no"})
			require.NoError(t, err)
			source, err := h.Wait(t.Context(), run.ID)
			require.NoError(t, err)
			require.Equal(t, fsm.StateSucceeded, source.State, "%+v", source.Error)
			require.Zero(t, shop.paid.Load())

			for i, reply := range []string{"yes", "", "yes"} { // "" is the stored answer
				at := lifecycle.At{ID: fmt.Sprint("f", i), Question: q.ID, Answer: lifecycle.Reply{Text: reply}}
				fork, err := h.Fork(t.Context(), run.ID, at)
				require.NoError(t, err)
				ended, err := h.Wait(t.Context(), fork.ID)
				require.NoError(t, err)
				require.Equal(t, fsm.StateSucceeded, ended.State, "%+v", ended.Error)
				require.EqualValues(t, (i+2)/2, shop.paid.Load())
				require.Equal(t, 1, ended.Attempt)
			}
			now, err := h.Get(t.Context(), run.ID)
			require.NoError(t, err)
			require.Equal(t, source, now)
		})
	}
}

// J6: the checkpoint of a graph that has come to its end is that of its last question. Nothing else
// can be said to it, and nothing is executed as if that was an answer.
func TestJ6NothingIsSaidToAGraphAfterItsEnd(t *testing.T) {
	var shop till
	h := newHost(t, stores[0].open(t)(), engines[0].make(t, &shop), t.TempDir())
	h.serve(t)
	run, err := h.Submit(t.Context(), lifecycle.Spec{Prompt: "Pay 5 EUR."})
	require.NoError(t, err)
	q := h.parked(t, run.ID)
	_, err = h.Reply(t.Context(), run.ID, interaction.Reply{ID: q.ID, Text: "yes"})
	require.NoError(t, err)
	_, err = h.Wait(t.Context(), run.ID)
	require.NoError(t, err)

	fork, err := h.Fork(t.Context(), run.ID, lifecycle.At{Answer: lifecycle.Reply{Text: "yes"}})
	require.NoError(t, err)
	ended, err := h.Wait(t.Context(), fork.ID)
	require.NoError(t, err)
	require.NotNil(t, ended.Error)
	require.Equal(t, fsm.CodeSessionResumeFailed, ended.Error.Code)
	require.Contains(t, ended.Error.Message, "fork the run at that question")
	require.EqualValues(t, 1, shop.paid.Load())
}
