package enginetest

import (
	"os"
	"path/filepath"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
)

// endings: turns that are ended from outside.
var endings = []scene{
	{name: "I6: a canceled turn ends, and is no success", real: true, play: func(w *world) {
		g := w.newRun("r1").startUntil("begun", "touch begun", "hang")
		g.cancel(engine.ErrCanceled)
		require.NotEqual(w, engine.OK, g.finish().Process.Status)
	}},
	{name: "B1: a turn that hangs ends at its time limit, and is no success", real: true, play: func(w *world) {
		g := w.newRun("r1").startUntil("begun", "final I am done, or am I", "touch begun", "hang")
		g.cancel(engine.ErrTurnTimeout)
		require.NotEqual(w, engine.OK, g.finish().Process.Status)
	}},
	{name: "I6: a turn that is canceled before it begins leaves nothing and ends at once", real: true,
		play: func(w *world) {
			ctx, cancel := w.canceled()
			defer cancel()
			r := w.newRun("r1")
			o, err := r.execute(ctx, Script("touch begun", "hang"))
			require.True(w, err != nil || o.Process.Status != engine.OK)
			if w.Model != nil {
				require.Empty(w, w.questions(), "the agent was never started")
			}
			if w.Program || w.Journal {
				require.NoFileExists(w, filepath.Join(r.turn.ArtifactDir, "begun"))
				entries, err := os.ReadDir(r.turn.WorkDir)
				require.NoError(w, err)
				require.Empty(w, entries, "the agent was never started")
			}
		}},
	{name: "I2: an attempt that is no longer the run's stops, though no one canceled it", real: true,
		play: func(w *world) {
			r := w.newRun("r1")
			g := r.startUntil("begun", "touch begun", "await go", "say one", "say two", "say three", "hang")
			r.Refuse(engine.ErrStale)
			r.touch("go")
			require.NotEqual(w, engine.OK, g.finish().Process.Status)
			require.Empty(w, r.Messages())
		}},
}
