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

// goingOn ends the wait of a run for its children.
func goingOn(prev store.Run, now time.Time) store.Commit {
	return Changed(prev, now, func(r *store.Run) { r.QueuedAt, r.Block, r.Family.Due = now, nil, time.Time{} })
}

// counting counts one more child of a running run.
func counting(prev store.Run, now time.Time) store.Commit {
	return Changed(prev, now, count)
}

func count(r *store.Run) {
	if r.Family == nil {
		r.Family = &store.Family{}
	}
	r.Family.Children++
}

// withDue is the commit that changes nothing but when the relatives of the run are due.
func withDue(prev store.Run, due time.Time) store.Commit {
	r := prev.Clone()
	r.Version++
	r.Family.Due = due
	return store.Commit{Run: r, Expect: prev.Version}
}

// endedFamily ends a run of a family.
func endedFamily(prev store.Run, now time.Time) store.Commit {
	c := ended(prev, now, fsm.StateSucceeded)
	c.Run.Family.Due = now
	return c
}

var familyCases = []promised{
	{
		"family/is due once a run of it has ended, and keeps it until then",
		"A run that has ended is returned by Due as long as its family is due, and is not pruned. A commit may " +
			"change when it is due, and nothing else of it; not after that was nothing any more (M3).",
		func(w *world) {
			w.submit("a", childOf("p"))
			r := w.start("n")
			at := w.tick()
			r = w.commit(using(endedFamily(r, at), 1))
			used := w.survey().Usage
			due, _ := w.due(at, 9)
			require.Equal(w, []string{"a"}, due)
			require.Zero(w, w.prune(w.now.Add(time.Hour), 9))
			for name, change := range map[string]func(*store.Commit){
				"text":      func(c *store.Commit) { c.Run.FinalText = "other" },
				"children":  func(c *store.Commit) { c.Run.Family.Children = 1 },
				"ancestors": func(c *store.Commit) { c.Run.Family.Ancestors = []string{"q"} },
				"event":     func(c *store.Commit) { *c = addEvent(*c) },
				"usage":     func(c *store.Commit) { *c = using(*c, 1) },
				"journal":   func(c *store.Commit) { *c = keeping(*c, kept(1)) },
				"state":     func(c *store.Commit) { c.Run.State = fsm.StateFailed },
			} {
				c := withDue(r, time.Time{})
				change(&c)
				require.ErrorIs(w, w.try(c), store.ErrInvalid, name)
			}
			old := r
			r = w.commit(withDue(r, store.EndedChild))
			w.refused(store.ErrConflict, withDue(old, time.Time{}))
			due, _ = w.due(w.now.AddDate(500, 0, 0), 9)
			require.Empty(w, due)
			require.Zero(w, w.prune(w.now.Add(time.Hour), 9))
			r = w.commit(withDue(r, time.Time{}))
			require.Equal(w, text(w, r), text(w, w.load("a")))
			require.Equal(w, used, w.survey().Usage)
			w.refused(store.ErrInvalid, withDue(r, at))
			require.Equal(w, 1, w.prune(w.now.Add(time.Hour), 9))
		},
	},
	{
		"family/has its limits, and never changes upwards",
		"Who a run's ancestors are cannot be changed, and no run is its own; a family has limits, and a run that " +
			"waits for children has some (M3).",
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
