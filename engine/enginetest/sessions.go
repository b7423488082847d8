package enginetest

import (
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
)

// sessions: how a run continues after a wait.
var sessions = []scene{
	{name: "D5: a later turn knows the inputs and questions of the earlier ones", real: true, play: func(w *world) {
		r := w.newRun("r1")
		o := r.waits("note first", "ask What next?")
		require.Equal(w, "What next?", asked(w, o))
		require.LessOrEqual(w, len(o.Session.Data), engine.MaxSessionHandle)
		require.Equal(w, "And then?", asked(w, r.do("note second", "ask And then?")))
		o = r.do("note third", "recall")
		require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
		require.Equal(w, "first | second | third", o.FinalText)
	}},
	{name: "B11: the handle, or a journal, is stored before the turn ends", real: true, play: func(w *world) {
		r := w.newRun("r1")
		g := r.startUntil("begun", "touch begun", "await go", "final ok")
		require.NoError(w, r.Await(w.ctx, func() bool { return r.Last() != nil || r.hasEntries() }))
		r.touch("go")
		o := g.finish()
		require.Equal(w, engine.OK, o.Process.Status)
		require.NotNil(w, o.Session)
	}},
	{name: "B11: another host of the same engine resumes with only the handle", real: true, applies: both(isAlone,
		isResumable), play: func(w *world) {
		r := w.newRun("r1")
		r.waits("note first", "ask What next?")
		h := *r.turn.Session
		r.turn.Session = &engine.SessionHandle{Engine: h.Engine, Version: h.Version, Data: append([]byte(nil),
			h.Data...)}
		o, err := r.executeOn(w.ctx, w.host(), Script("note second", "recall"))
		require.NoError(w, err)
		require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
		require.Equal(w, "first | second", o.FinalText)
	}},
	{name: "E2: a missing session is SESSION_RESUME_FAILED", real: true, applies: isResumable,
		play: func(w *world) {
			r := w.newRun("r1")
			o := r.waits("ask What next?")
			gone := []string{"nowhere-to-be-found", `"nowhere-to-be-found"`}
			if w.Model != nil {
				gone = []string{likeNoOther(string(o.Session.Data))} // in the agent's own form
			}
			for _, data := range gone {
				r.turn.Session = &engine.SessionHandle{Engine: o.Session.Engine, Version: o.Session.Version,
					Data: []byte(data)}
				got, err := r.execute(w.ctx, Script("final I should not speak"))
				require.Equal(w, fsm.CodeSessionResumeFailed, failure(w, got, err))
			}
		}},
	{name: "E2: a handle of another engine is SESSION_RESUME_FAILED", real: true, applies: both(isAlone, isResumable),
		play: func(w *world) {
			r := w.newRun("r1")
			o := r.waits("ask What next?")
			r.turn.Session = &engine.SessionHandle{Engine: "another", Data: o.Session.Data}
			got, err := r.execute(w.ctx, Script("final I should not speak"))
			require.Equal(w, fsm.CodeSessionResumeFailed, failure(w, got, err))
		}},
	{name: "E2: a Checker refuses what cannot be resumed, and nothing else", real: true, applies: isResumable,
		play: func(w *world) {
			c, ok := w.engine.(engine.Checker)
			if !ok {
				return // an optional ability
			}
			r := w.newRun("r1")
			o := r.waits("ask What next?")
			require.NoError(w, c.Check(w.ctx, r.turn.RunID, *o.Session))
			require.ErrorIs(w, c.Check(w.ctx, r.turn.RunID, engine.SessionHandle{Engine: "another",
				Data: o.Session.Data}),
				engine.ErrHandleRefused)
		}},
	{name: "E4: a run continues after its process was killed in the middle of its first turn", applies: both(isProgram,
		isResumable), play: func(w *world) {
		r := w.newRun("r1")
		g := r.startUntil("begun", "note first", "pid self", "touch begun", "hang")
		require.NoError(w, r.Await(w.ctx, func() bool { return r.Last() != nil }))
		r.kill(r.pid("self"))
		killed := g.finish()
		require.Equal(w, engine.Interrupted, killed.Process.Status)
		require.NotEmpty(w, killed.Process.Detail)
		r.turn.Session = r.Last()
		o, err := r.execute(w.ctx, Script("note again", "recall"))
		require.NoError(w, err)
		require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
		require.Equal(w, "first | again", o.FinalText)
	}},
}

// likeNoOther changes the handle's last letter or digit to another of its kind.
func likeNoOther(handle string) string {
	at := strings.LastIndexAny(handle, "0123456789abcdefABCDEF")
	if at < 0 {
		return handle + "0"
	}
	other := "0"
	if handle[at] == '0' {
		other = "1"
	}
	return handle[:at] + other + handle[at+1:]
}
