package enginetest

import (
	"os"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
)

// sessions: how a run goes on after a wait.
var sessions = []scene{
	{name: "D5: a later turn knows what the earlier ones were told", play: func(w *world) {
		r := w.newRun("r1")
		o, err := r.execute(w.ctx, "first\n"+Script("ask What next?"))
		require.NoError(w, err)
		require.NotNil(w, o.Handle, "B11: without a handle the run could not wait")
		require.LessOrEqual(w, len(o.Handle.Data), engine.MaxHandle)
		_, err = r.execute(w.ctx, "second\n"+Script("ask And then?"))
		require.NoError(w, err)
		o, err = r.execute(w.ctx, "third\n"+Script("recall"))
		require.NoError(w, err)
		require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
		require.Equal(w, "first | second | third", o.FinalText)
	}},
	{name: "B11: the handle is told before the turn ends", play: func(w *world) {
		r := w.newRun("r1")
		g := r.begin("begun", "touch begun", "await go", "final ok")
		require.NoError(w, r.Await(w.ctx, func() bool { return r.Last() != nil }))
		r.touch("go")
		require.Equal(w, engine.OK, g.finish().Process.Status)
	}},
	{name: "B11: another host of the same engine resumes by the handle alone", applies: both(isProgram, isResumable), play: func(w *world) {
		r := w.newRun("r1")
		_, err := r.execute(w.ctx, "first\n"+Script("ask What next?"))
		require.NoError(w, err)
		h := *r.turn.Handle
		r.turn.Handle = &engine.Handle{Engine: h.Engine, Version: h.Version, Data: append([]byte(nil), h.Data...)}
		o, err := r.execute(w.ctx, "second\n"+Script("recall"))
		require.NoError(w, err)
		require.Equal(w, "first | second", o.FinalText)
	}},
	{name: "E2: a session that is gone is SESSION_RESUME_FAILED", applies: isResumable, play: func(w *world) {
		r := w.newRun("r1")
		o := r.do("ask What next?")
		for _, data := range []string{"nowhere-to-be-found", `"nowhere-to-be-found"`} {
			r.turn.Handle = &engine.Handle{Engine: o.Handle.Engine, Version: o.Handle.Version, Data: []byte(data)}
			got, err := r.execute(w.ctx, Script("final I should not speak"))
			require.Equal(w, fsm.CodeSessionResumeFailed, failure(w, got, err))
		}
	}},
	{name: "E2: a handle of another engine is SESSION_RESUME_FAILED", applies: both(isProgram, isResumable), play: func(w *world) {
		r := w.newRun("r1")
		o := r.do("ask What next?")
		r.turn.Handle = &engine.Handle{Engine: "another", Data: o.Handle.Data}
		got, err := r.execute(w.ctx, Script("final I should not speak"))
		require.Equal(w, fsm.CodeSessionResumeFailed, failure(w, got, err))
	}},
	{name: "E2: a Checker refuses what cannot be resumed, and nothing else", applies: isResumable, play: func(w *world) {
		c, ok := w.engine.(engine.Checker)
		if !ok {
			return // an optional ability
		}
		r := w.newRun("r1")
		o := r.do("ask What next?")
		require.NoError(w, c.Check(w.ctx, "r1", *o.Handle))
		require.ErrorIs(w, c.Check(w.ctx, "r1", engine.Handle{Engine: "another", Data: o.Handle.Data}), engine.ErrHandleRefused)
	}},
	{name: "E4: a run goes on after its process was killed in the middle of a turn", applies: both(isProgram, isResumable), play: func(w *world) {
		r := w.newRun("r1")
		g := r.begin("begun", "note first", "pid self", "touch begun", "hang")
		require.NoError(w, r.Await(w.ctx, func() bool { return r.Last() != nil }))
		p, err := os.FindProcess(r.pid("self"))
		require.NoError(w, err)
		require.NoError(w, p.Kill())
		killed := g.finish()
		require.Equal(w, engine.Failed, killed.Process.Status)
		require.NotEmpty(w, killed.Process.Detail)
		r.turn.Handle = r.Last()
		o, err := r.execute(w.ctx, Script("note again", "recall"))
		require.NoError(w, err)
		require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
		require.Equal(w, "first | again", o.FinalText)
	}},
}
