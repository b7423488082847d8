package storetest

import (
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

func forkOf(id string, question int) func(*store.Run) {
	return func(r *store.Run) { r.ForkedFrom = &store.ForkPoint{RunID: id, Question: question} }
}

var forkCases = []promised{
	{
		"fork/begins with an answer",
		"A fork, and no other run, may be created with the answer for its first turn. A run's source cannot be " +
			"changed, and is not the run itself (J6).",
		func(w *world) {
			reply := interaction.Reply{ID: 3, Text: "yes"}
			answer := reply.Answer(base)
			answered := func(r *store.Run) { r.Answers = []interaction.Answer{answer} }
			w.refused(store.ErrInvalid, Created("a", w.tick(), answered))
			w.refused(store.ErrInvalid, Created("a", w.tick(), forkOf("a", 1)))
			w.refused(store.ErrInvalid, Created("a", w.tick(), forkOf("", 1)))
			w.refused(store.ErrInvalid, Created("a", w.tick(), forkOf("b", -1)))
			w.refused(store.ErrInvalid, Created("a", w.tick(), forkOf("\xff", 1)))
			w.submit("a", forkOf(strings.Repeat("b", 128), 3), answered)
			require.Equal(w, "yes", w.load("a").Answers[0].Text)
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
