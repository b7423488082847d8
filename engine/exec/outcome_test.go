package exec

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// D6: a resident process that ended without reacting to an answer was lost during the wait; one
// that ends after it took up the turn has failed.
func TestLostResidentIsDistinguishedFromACrash(t *testing.T) {
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
		r := newTurn(t.Context(), &Config{Resident: true}, tc.turn, &enginetest.Recorder{})
		r.evidence.wrote = tc.heard
		o, err := r.outcome(gone, nil)
		require.NoError(t, err)
		require.Equal(t, engine.Failed, o.Process.Status, name)
		require.Equal(t, tc.want, o.Process.Code, name)
	}
}

// B1, I2: the reason for a turn's end overrides the agent's output.
func TestReasonForTheEndOverridesTheOutput(t *testing.T) {
	fine := ending{}
	r := func() *turn {
		r := newTurn(t.Context(), &Config{MaxStream: 7}, engine.Turn{}, &enginetest.Recorder{})
		r.messages.final = &engine.Message{Text: "all is well"}
		return r
	}
	o, err := r().outcome(fine, engine.ErrStale)
	require.NoError(t, err)
	require.Equal(t, engine.Interrupted, o.Process.Status)
	o, err = r().outcome(fine, process.ErrFlood)
	require.NoError(t, err)
	require.Equal(t, engine.Failed, o.Process.Status)
	full := errors.New("disk full")
	_, err = r().outcome(fine, full)
	require.ErrorIs(t, err, full)
	limited := r()
	ctx, exceed := context.WithCancelCause(t.Context())
	exceed(errLimit{"no output for 1s"})
	limited.limits.ctx = ctx //nolint:fatcontext // in place of the turn's
	o, err = limited.outcome(fine, nil)
	require.NoError(t, err)
	require.Equal(t, engine.TimedOut, o.Process.Status)
}
