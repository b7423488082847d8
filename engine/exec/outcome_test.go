package exec

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// D6: a resident process that says nothing to an answer and has ended was lost while the run
// waited; one that ends after it took the turn up has failed.
func TestALostProcessIsToldFromOneThatCrashed(t *testing.T) {
	gone := ending{err: errors.New("signal: killed")}
	answered := engine.Turn{Answers: []interaction.Answer{{ID: 1, Text: "yes"}}}
	for name, tc := range map[string]struct {
		turn  engine.Turn
		heard bool
		want  fsm.Code
	}{
		"gone before the answer came": {answered, false, fsm.CodeInteractionProcessLost},
		"crashed over the answer":     {answered, true, fsm.CodeEngineFailed},
		"crashed in the first turn":   {engine.Turn{}, false, fsm.CodeEngineFailed},
	} {
		r := &reading{cfg: &Config{Resident: true}, ctx: t.Context(), sink: &enginetest.Recorder{}, turn: tc.turn,
			heard: tc.heard}
		o, err := r.outcome(t.Context(), gone, nil)
		require.NoError(t, err)
		require.Equal(t, engine.Failed, o.Process.Status, name)
		require.Equal(t, tc.want, o.Process.Code, name)
	}
}

// B1, I2: what ended a turn goes before what the agent said.
func TestWhatEndedATurnGoesBeforeWhatWasSaid(t *testing.T) {
	fine := ending{}
	said := "all is well"
	r := func() *reading {
		return &reading{cfg: &Config{MaxStream: 7}, ctx: t.Context(), sink: &enginetest.Recorder{}, final: &said}
	}
	o, err := r().outcome(t.Context(), fine, engine.ErrStale)
	require.NoError(t, err)
	require.Equal(t, engine.Interrupted, o.Process.Status)
	o, err = r().outcome(t.Context(), fine, errFlood)
	require.NoError(t, err)
	require.Equal(t, engine.Failed, o.Process.Status)
	full := errors.New("disk full")
	_, err = r().outcome(t.Context(), fine, full)
	require.ErrorIs(t, err, full)
	limited := r()
	limited.limited = errLimit{"no output for 1s"}
	o, err = limited.outcome(t.Context(), fine, nil)
	require.NoError(t, err)
	require.Equal(t, engine.TimedOut, o.Process.Status)
}
