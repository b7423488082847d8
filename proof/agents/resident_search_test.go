//go:build linux && search

package agents_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
)

// E3, D6: the process of a resident agent dies with its host, and its run reports that.
func TestAResidentAgentDiesWithItsHost(t *testing.T) {
	eachAgent(t, stays, func(w *world) {
		id := w.submit(lifecycle.Spec{}, "note alpha", "ask One?")
		w.reply(id, w.asked(id, "One?"), "note beta", "ask Two?")
		w.asked(id, "Two?")
		require.NotEmpty(w, w.processes(id), "it stays while its run waits")
		require.Contains(w, w.conversationWith("beta"), "alpha")
		w.kill()
		w.start()
		run := w.ended(id, fsm.StateFailed)
		require.Equal(w, fsm.CodeInteractionProcessLost, run.Error.Code)
		w.gone(id)
	})
}
