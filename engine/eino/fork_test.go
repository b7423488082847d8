package eino_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/lifecycle/effecttest"
)

// J6: a finished graph keeps the checkpoint of its last question. Only the answer to that
// question is accepted for it.
func TestJ6NothingIsSaidToAGraphAfterItsEnd(t *testing.T) {
	var shop till
	h := effecttest.Serve(t, stores[0].open(t)(), engines[0].make(t, &shop), t.TempDir())
	run, q := h.Start(lifecycle.Spec{Prompt: "Pay 5 EUR."})
	_, err := h.Reply(t.Context(), run.ID, interaction.Reply{ID: q.ID, Text: "yes"})
	require.NoError(t, err)
	h.Succeeds(run.ID)

	fork, err := h.Fork(t.Context(), run.ID, lifecycle.At{Answer: lifecycle.Reply{Text: "yes"}})
	require.NoError(t, err)
	ended, err := h.Wait(t.Context(), fork.ID)
	require.NoError(t, err)
	require.NotNil(t, ended.Error)
	require.Equal(t, fsm.CodeSessionResumeFailed, ended.Error.Code)
	require.Contains(t, ended.Error.Message, "fork the run at that question")
	require.EqualValues(t, 1, shop.paid.Load())
}
