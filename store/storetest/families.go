package storetest

import (
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// childOf makes a run the child of the last of these, below the others.
func childOf(ancestors ...string) func(*store.Run) {
	return func(r *store.Run) { r.Family = &store.Family{Ancestors: ancestors} }
}

func goingOn(prev store.Run, now time.Time) store.Commit {
	return Changed(prev, now, func(r *store.Run) { r.QueuedAt, r.Block, r.Family.Due = now, nil, time.Time{} })
}

func counting(prev store.Run, now time.Time) store.Commit {
	return Changed(prev, now, count)
}

func count(r *store.Run) {
	if r.Family == nil {
		r.Family = &store.Family{}
	}
	r.Family.Children++
}

// withDue changes only when the relatives of the run are due.
func withDue(prev store.Run, due time.Time) store.Commit {
	r := prev.Clone()
	r.Version++
	r.Family.Due, r.Family.Kept = due, false
	return store.Commit{Run: r, Expect: prev.Version}
}

func keptChild(prev store.Run) store.Commit {
	c := withDue(prev, time.Time{})
	c.Run.Family.Kept = true
	return c
}

func endedFamily(prev store.Run, now time.Time) store.Commit {
	c := ended(prev, now, fsm.StateSucceeded)
	c.Run.Family.Due = now
	return c
}

var familyCases = []promised{
	{
		"family/has limits, and its ancestors never change",
		"A run's ancestors cannot be changed, and do not include the run itself; a family has limits, and a run " +
			"that waits for children states them (M3).",
		func(w *world) {
			long := strings.Split(strings.Repeat("b ", store.MaxDepth+1), " ")[:store.MaxDepth+1]
			for name, change := range map[string]func(*store.Run){
				"itself":   childOf("a"),
				"empty":    childOf(""),
				"nothing":  childOf(),
				"depth":    childOf(long...),
				"no text":  childOf("\xff"),
				"negative": func(r *store.Run) { r.Family = &store.Family{Children: -1} },
				"number":   func(r *store.Run) { r.Family = &store.Family{Children: store.MaxChildren + 1} },
				"block": func(r *store.Run) {
					r.Family = &store.Family{Children: 1}
					r.Block = &store.Block{Kind: store.BlockChildren}
				},
				"no family": func(r *store.Run) {
					r.Block = &store.Block{Kind: store.BlockChildren, Children: []string{"x"}}
				},
			} {
				require.ErrorIs(w, w.try(Created("a", w.tick(), change)), store.ErrInvalid, name)
			}
			w.submit("a", childOf(long[1:]...))
			r := w.start("n")
			for _, change := range []func(*store.Run){
				childOf("c"), childOf(long[2:]...), func(r *store.Run) { r.Family = nil },
				func(r *store.Run) { r.Family.Due = w.now },
			} {
				c := reported(r, w.tick())
				c.Run = c.Run.Clone()
				change(&c.Run)
				w.refused(store.ErrInvalid, c)
			}
			c := reported(r, w.tick())
			c.Run = c.Run.Clone()
			c.Run.Family.Children = store.MaxChildren
			w.commit(c)
			require.Equal(w, long[1:], w.load("a").Family.Ancestors)
		},
	},
}
