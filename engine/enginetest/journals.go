package enginetest

import (
	"os"
	"path/filepath"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// plain: plain code in the engine's process.
var plain = []scene{
	{name: "B1, J10: a function that panics has failed, and the engine continues", applies: isPlain,
		play: func(w *world) {
			r := w.newRun("r1")
			r.waits("note first", "ask What next?")
			o, err := r.execute(w.ctx, Script("panic out of cheese"))
			require.True(w, err != nil || o.Process.Status == engine.Failed)
			if err == nil {
				require.Contains(w, o.Process.Detail, "out of cheese")
			} else {
				require.ErrorContains(w, err, "out of cheese")
			}
			require.Equal(w, "ok", r.do("final ok").FinalText)
			require.Equal(w, "ok", w.newRun("r2").do("final ok").FinalText)
		}},
}

// journals: an agent that replays its run's journal.
var journals = []scene{
	{name: "M1: a stored step is not executed again in later turns", applies: hasJournal, play: func(w *world) {
		r := w.newRun("r1")
		r.waits("touch one", "ask What next?")
		r.remove("one")
		require.Equal(w, "And then?", asked(w, r.do("touch two", "ask And then?")))
		r.remove("two")
		require.Equal(w, "ok", r.do("touch three", "final ok").FinalText)
		require.Equal(w, []string{"three"}, r.files())
	}},
	{name: "M1, E4: a turn whose host is lost continues on another host", applies: hasJournal,
		play: func(w *world) {
			r := w.newRun("r1")
			r.lose(r.startUntil("begun", "note first", "touch once", "touch begun", "await go", "touch after",
				"ask What next?"))
			r.remove("once")
			r.touch("go")
			o, err := r.repeat()
			require.NoError(w, err)
			require.Equal(w, "What next?", asked(w, o))
			require.NotContains(w, r.files(), "once")
			require.Contains(w, r.files(), "after")
			require.NotNil(w, o.Session)
		}},
	{name: "M1, E4: an answer is not lost with the host of its turn, and is used once", applies: hasJournal,
		play: func(w *world) {
			r := w.newRun("r1")
			r.waits("note first", "ask What next?")
			r.lose(r.startUntil("begun", "note second", "touch once", "touch begun", "await go", "ask And then?"))
			r.remove("once")
			r.touch("go")
			o, err := r.repeat()
			require.NoError(w, err)
			require.Equal(w, "And then?", asked(w, o))
			require.NotContains(w, r.files(), "once")
			require.Equal(w, "first | second | third", r.do("note third", "recall").FinalText)
		}},
	{name: "I2: an attempt that is no longer the run's stores nothing", applies: hasJournal,
		play: func(w *world) {
			r := w.newRun("r1")
			g := r.startUntil("begun", "touch begun", "await go", "touch late")
			r.Refuse(engine.ErrStale)
			kept := r.storedEntries()
			r.touch("go")
			require.NotEqual(w, engine.OK, g.finish().Process.Status)
			require.Equal(w, kept, r.storedEntries())
			require.NotContains(w, r.files(), "late", "it has continued though nothing is kept any more")
		}},
	{name: "M1: a step that cannot be stored fails the turn, and no other is executed", applies: hasJournal,
		play: func(w *world) {
			r := w.newRun("r1")
			r.size = &interaction.JournalSize{Entries: interaction.MaxJournalEntries}
			o, err := r.execute(w.ctx, Script("touch one", "touch two", "final ok"))
			require.Equal(w, fsm.CodeEngineFailed, failure(w, o, err))
			require.Equal(w, []string{"one"}, r.files())
		}},
	{name: "M1: a host without journals is refused before anything is executed", applies: hasJournal,
		play: func(w *world) {
			r := w.newRun("r1")
			turn := r.next(Script("touch one", "final ok"))
			o, err := w.engine.RunTurn(w.ctx, turn, struct{ engine.Sink }{&r.Recorder})
			require.Equal(w, fsm.CodeEngineUnavailable, failure(w, o, err))
			require.Empty(w, r.files())
		}},
	{name: "M2: a journal that other code has written holds the run, and names both", applies: hasJournal,
		play: func(w *world) {
			r := w.newRun("r1")
			r.waits("touch one", "ask What next?")
			e := &r.journal[0]
			was := e.Name
			e.Name = "another"
			_, err := r.execute(w.ctx, Script("touch two", "final ok"))
			var f *engine.Failure
			require.ErrorAs(w, err, &f)
			require.True(w, f.Held)
			require.Contains(w, f.Detail, "another")
			require.Contains(w, f.Detail, was)
			require.Equal(w, []string{"one"}, r.files())
		}},
}

func (r *run) hasEntries() bool { return r.Journal && len(r.storedEntries()) > 0 }

func (r *run) storedEntries() []engine.JournalEntry {
	r.Helper()
	entries, err := r.Entries(r.ctx)
	require.NoError(r, err)
	return entries
}

// lose ends a turn as the loss of its host does: later writes are refused.
func (r *run) lose(g *going) {
	r.Helper()
	r.Refuse(engine.ErrStale)
	g.cancel(engine.ErrStale)
	require.NotEqual(r, engine.OK, g.finish().Process.Status)
	r.Refuse(nil)
}

// files lists the files that the agent created.
func (r *run) files() (names []string) {
	r.Helper()
	files, err := os.ReadDir(r.turn.ArtifactDir)
	require.NoError(r, err)
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

func (r *run) remove(file string) {
	r.Helper()
	require.NoError(r, os.Remove(filepath.Join(r.turn.ArtifactDir, file)))
}
