package exec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/exec"
	"github.com/interlude-go/interlude/fsm"
)

// B3, B5: a repair round resumes the session, with a process per turn or one for all; without a
// session there is no repair.
func TestRepairRoundResumesTheSession(t *testing.T) {
	resident := staying(t, t.TempDir())
	for name, cfg := range map[string]exec.Config{"a process a turn": scripted(t, t.TempDir()), "resident": resident} {
		t.Run(name, func(t *testing.T) {
			e := started(t, cfg)
			t.Cleanup(func() { require.NoError(t, e.Close()) })
			turn := job(t, "note first", "final wrong")
			o, err := e.RunTurn(t.Context(), turn, &enginetest.Recorder{})
			require.NoError(t, err)
			require.Equal(t, engine.OK, o.Process.Status, o.Process.Detail)
			again := turn
			again.Session, again.Repair = o.Session, enginetest.Script("note again", "recall")
			o, err = e.RunTurn(t.Context(), again, &enginetest.Recorder{})
			require.NoError(t, err)
			require.Equal(t, "first | again", o.FinalText)

			lost := job(t)
			lost.RunID, lost.Repair = "r2", enginetest.Script("final I should not speak")
			_, err = e.RunTurn(t.Context(), lost, &enginetest.Recorder{})
			var f *engine.Failure
			require.ErrorAs(t, err, &f)
			require.Equal(t, map[bool]fsm.Code{false: fsm.CodeSessionResumeFailed,
				true: fsm.CodeInteractionProcessLost}[cfg.Resident], f.Code)
		})
	}
}
