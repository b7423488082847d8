package storetest

import (
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

func forkOf(id string, question int) func(*store.Run) {
	return func(r *store.Run) { r.ForkedFrom = &store.ForkPoint{RunID: id, Question: question} }
}

// forksOf lists the forks of a run with the query, and returns their ids.
func (w *world) forksOf(id string, q store.Query) []string {
	w.Helper()
	q.ForkedFrom = id
	page, err := w.store.Runs(w.ctx, q)
	require.NoError(w, err)
	return ids(page.Runs)
}

var forkCases = []promised{
	{
		"fork/outlives the run, and goes when it is pruned",
		"A fork does not keep the other run from being pruned, and says afterwards whose fork it is. A fork that is " +
			"pruned is found no more, also if its id is used again (J6).",
		func(w *world) {
			w.finished("a")
			w.submit("f", forkOf("a", 1))
			require.Equal(w, 1, w.prune(w.tick(), 9))
			require.Equal(w, &store.ForkPoint{RunID: "a", Question: 1}, w.load("f").ForkedFrom)
			require.Equal(w, []string{"f"}, w.forksOf("a", store.Query{}))
			w.commit(ended(w.load("f"), w.tick(), fsm.StateCanceled))
			require.Equal(w, 1, w.prune(w.tick(), 9))
			require.Empty(w, w.forksOf("a", store.Query{}))
			w.submit("f")
			require.Empty(w, w.forksOf("a", store.Query{}))
		},
	},
	{
		"fork/begins with an answer",
		"A fork may be created with the answer that its first turn is given; no other run may. Whose fork a run is " +
			"cannot be changed, and no run is its own (J6).",
		func(w *world) {
			reply := interaction.Reply{ID: 3, Text: "yes"}
			answer := reply.Answer(base)
			answered := func(r *store.Run) { r.Answer = &answer }
			w.refused(store.ErrInvalid, Created("a", w.tick(), answered))
			w.refused(store.ErrInvalid, Created("a", w.tick(), forkOf("a", 1)))
			w.refused(store.ErrInvalid, Created("a", w.tick(), forkOf("", 1)))
			w.refused(store.ErrInvalid, Created("a", w.tick(), forkOf("b", -1)))
			w.refused(store.ErrInvalid, Created("a", w.tick(), forkOf("\xff", 1)))
			w.submit("a", forkOf(strings.Repeat("b", 128), 3), answered)
			require.Equal(w, "yes", w.load("a").Answer.Text)
			r := w.start("n")
			for _, change := range []func(*store.Run){
				forkOf("b", 3), forkOf(r.ForkedFrom.RunID, 4), func(r *store.Run) { r.ForkedFrom = nil },
			} {
				c := Asked(r, w.tick(), false, base.AddDate(1, 0, 0))
				change(&c.Run)
				w.refused(store.ErrInvalid, c)
			}
		},
	},
}
