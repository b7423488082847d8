package enginetest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// models: cases for real agents only, whose model is the suite's.
var models = []scene{
	{name: "an input that looks like flags, code or placeholders reaches the model as it is", real: true,
		applies: isModel, play: func(w *world) {
			odd := "--help\n-x --yes\n{session} {prompt} {auto}\na 'b' \"c\" $(d) `e` \\\nünïcödé 🎈"
			o, err := w.newRun("r1").execute(w.ctx, odd+"\n"+Script("final ok"))
			require.NoError(w, err)
			require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
			require.Equal(w, "ok", o.FinalText)
			heard := w.questions()
			require.NotEmpty(w, heard)
			require.Contains(w, heard[len(heard)-1].LastUser, odd)
		}},
	{name: "B4: a done marker that a tool echoed is not the agent's", real: true, applies: isModel,
		play: func(w *world) {
			r := w.newRun("r1")
			r.turn.Mode = fsm.ModeAuto
			o := r.do("tool echo "+interaction.DoneMarker, "final I only ran it")
			require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
			require.Equal(w, "I only ran it", o.FinalText)
			require.False(w, interaction.Read(o.FinalText, o.Output).Done)
			heard := w.questions()
			require.Contains(w, strings.Join(heard[len(heard)-1].Results, "\n"), interaction.DoneMarker,
				"the tool has run")
		}},
	// Some real agents save a turn only after some progress, so only earlier text must survive.
	{name: "E4: a run continues after its process was killed in the middle of a later turn", real: true,
		applies: both(isModel, both(onLinux, isResumable)), play: func(w *world) {
			r := w.newRun("r1")
			r.waits("note first", "ask What next?")
			g := r.startUntil("begun", "final half a word", "touch begun", "hang")
			r.kill(r.named("self"))
			killed := g.finish()
			require.NotEqual(w, engine.OK, killed.Process.Status, "interrupted, or failed where another program ran "+
				"the "+
				"one that was killed")
			require.NotEmpty(w, killed.Process.Detail)
			o := r.do("note again", "recall")
			require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
			require.Equal(w, "first | again", o.FinalText)
		}},
	{name: "B1: an answer that breaks off is no success, unless the agent asked again for all of it", real: true,
		applies: isModel, play: func(w *world) {
			o, err := w.newRun("r1").execute(w.ctx, Script("delta one half", "first 1 drop", `delta " and the other"`))
			require.NoError(w, err)
			require.NotEmpty(w, w.questions())
			if o.Process.Status == engine.OK {
				require.Equal(w, "one half and the other", o.FinalText)
			}
		}},
	{name: "I11: broken UTF-8 of the model does no harm", real: true, applies: isModel, play: func(w *world) {
		o, err := w.newRun("r1").execute(w.ctx, Script(`final "f\xff\xfex"`))
		require.NoError(w, err)
		require.NotEmpty(w, w.questions())
		if o.Process.Status == engine.OK {
			require.Regexp(w, "^f\uFFFD+x$", o.FinalText)
		}
		require.True(w, utf8.ValidString(o.FinalText+o.Process.Detail))
	}},
	{name: "I11: a long text of many pieces is read to its end", real: true, applies: isModel, play: func(w *world) {
		o := w.newRun("r1").do("flood 500")
		require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
		require.Equal(w, 500, strings.Count(o.FinalText, "wave "))
	}},
	{name: "the agent sees only the named variables of the host", real: true, applies: both(isModel,
		onLinux), play: func(w *world) {
		w.setenv("INTERLUDE_TEST_SECRET", "hunter2")
		r := w.newRun("r1")
		g := r.startUntil("begun", "touch begun", "hang")
		pids := r.processes()
		require.NotEmpty(w, pids)
		for _, pid := range pids {
			env, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ")) // it may have ended
			require.NotContains(w, string(env), "hunter2")
		}
		g.cancel(engine.ErrCanceled)
		require.NotEqual(w, engine.OK, g.finish().Process.Status)
		r.goneAre(pids...)
	}},
	{name: "a turn that ends well leaves no process", real: true, applies: both(isModel, both(onLinux, isResumable)),
		play: func(w *world) {
			r := w.newRun("r1")
			o := r.do("final ok")
			require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
			require.Empty(w, r.processes())
		}},
}
