package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/lifecycle"
)

// N1: each agent of the examples that asks for a yes does something else on "no".
func TestN1NoExampleTakesANoForAYes(t *testing.T) {
	for name, agent := range map[string]engine.Func{"shipper": shipper, "board": board} {
		asked, err := agent(t.Context(), engine.Turn{RunID: "r", Attempt: 1}, &enginetest.Recorder{})
		require.NoError(t, err)
		ends := make(map[string]string)
		for _, text := range []string{"yes", "no"} {
			turn := engine.Turn{RunID: "r", Attempt: 2, Session: asked.Session}
			for i, q := range asked.Questions {
				q.ID = i + 1
				require.True(t, q.Only, name)
				reply := lifecycle.Reply{ID: q.ID, Text: text}
				turn.Answers = append(turn.Answers, reply.AnswerTo(&q, time.Time{}))
			}
			done, err := agent(t.Context(), turn, &enginetest.Recorder{})
			require.NoError(t, err)
			ends[text] = done.FinalText
		}
		require.NotEqual(t, ends["yes"], ends["no"], name)
	}
}
