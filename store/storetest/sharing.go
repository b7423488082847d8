package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// scribble overwrites everything that a record refers to.
func scribble(r *store.Run) {
	for k := range r.Labels {
		r.Labels[k] = "scribbled"
	}
	fill(r.Output)
	for i := range r.Warnings {
		r.Warnings[i] = "SCRIBBLED"
	}
	if r.Session != nil {
		r.Session.Engine = "scribbled"
		fill(r.Session.Data)
	}
	if len(r.Open) > 0 {
		scribbleQuestion(r.FirstOpen())
	}
	if len(r.Answers) > 0 {
		r.Answers[0].Text = "scribbled"
		if r.Answers[0].Auto != nil {
			r.Answers[0].Auto.Reason = "scribbled"
		}
	}
	if r.Error != nil {
		r.Error.Message = "scribbled"
	}
}

func scribbleQuestion(q *interaction.Question) {
	q.Prompt = "scribbled"
	for i := range q.Options {
		q.Options[i].Label = "scribbled"
	}
	for i := range q.RequiredFields {
		q.RequiredFields[i] = "scribbled"
	}
	for k, v := range q.UIHints {
		if nested, ok := v.(map[string]any); ok {
			nested["list"].([]any)[0] = "scribbled"
		}
		q.UIHints[k] = "scribbled"
	}
}

func fill(b []byte) {
	for i := range b {
		b[i] = '#'
	}
}

// untouched calls do, which overwrites arguments or results of a call, and checks that the stored
// run did not change.
func (w *world) untouched(id string, do func()) {
	w.Helper()
	content := func() string { // a text that shares no memory with the store
		p := w.snapshot(id)
		history, err := json.Marshal(p.History)
		require.NoError(w, err)
		return fmt.Sprintf("%s %s %v %s", p.Run, p.Spec, p.Events, history)
	}
	before := content()
	do()
	require.Equal(w, before, content())
}

var sharingCases = []promised{
	{
		"sharing/Commit keeps nothing of the caller's batch",
		"A caller may change a stored commit's record, specification, events and settled interaction without an " +
			"effect on the store.",
		func(w *world) {
			put := func(c store.Commit) {
				w.Helper()
				w.commit(c)
				w.untouched(c.Run.ID, func() {
					scribble(&c.Run)
					fill(c.Spec)
					for _, e := range c.Events {
						fill(e.Body)
					}
					if c.Settled != nil {
						c.Settled[0].Response = "scribbled"
						scribbleQuestion(&c.Settled[0].Question)
					}
				})
			}
			put(Created("a", w.tick(), submitted))
			parked := Asked(w.start("n"), w.tick(), true, time.Time{})
			parking(&parked.Run)
			put(parked)
			c := Answered(w.load("a"), w.tick(), "k")
			c.Run.Answers[0].Auto = &interaction.AutoDecision{Reason: "r"}
			put(c)
			end := ended(w.start("n"), w.tick(), fsm.StateFailed)
			ending(&end.Run)
			put(end)
		},
	},
	{
		"sharing/the caller owns what it reads",
		"A caller may change the records, specifications, events and history that it got, without an effect on " +
			"other readers.",
		func(w *world) {
			w.submit("a", submitted)
			parked := Asked(w.start("n"), w.tick(), true, w.now)
			parking(&parked.Run)
			w.commit(parked)
			w.untouched("a", func() {
				r := w.load("a")
				scribble(&r)
				for _, list := range []func(store.Query) (store.Page, error){w.runs, w.waits} {
					page, err := list(store.Query{})
					require.NoError(w, err)
					require.Len(w, page.Runs, 1)
					scribble(&page.Runs[0])
				}
				due, _, err := w.store.Due(w.ctx, parked.Run.Deadline, 1)
				require.NoError(w, err)
				require.Len(w, due, 1)
				scribble(&due[0])
				spec, err := w.store.Spec(w.ctx, "a")
				require.NoError(w, err)
				fill(spec)
				events, err := w.store.Events(w.ctx, "a", 0, 9)
				require.NoError(w, err)
				fill(events[0].Body)
			})
			w.commit(Answered(w.load("a"), w.tick(), "k"))
			w.untouched("a", func() {
				run, history, err := store.ReadHistory(w.ctx, w.store, "a")
				require.NoError(w, err)
				require.Len(w, history, 1)
				scribble(&run)
				scribbleQuestion(&history[0].Question)
				record, err := w.store.Settled(w.ctx, "a", "k")
				require.NoError(w, err)
				scribbleQuestion(&record.Question)
			})
			w.expire("n")
			w.untouched("a", func() {
				orphans, err := w.store.Orphans(w.ctx, 0, 9)
				require.NoError(w, err)
				require.Len(w, orphans, 1)
				scribble(&orphans[0])
			})
		},
	},
	{
		"sharing/the caller owns what a claim returns",
		"A caller may change what Claim returns, and the events that Start returned, without an effect on the store.",
		func(w *world) {
			w.submit("a", submitted)
			parked := Asked(w.start("n"), w.tick(), true, time.Time{})
			parking(&parked.Run) // the claimed run has a session and an answer
			w.commit(parked)
			w.commit(Answered(w.load("a"), w.tick(), "k"))
			var made store.Commit
			claimed, err := w.store.Claim(w.ctx, store.ClaimRequest{Node: "n", Now: w.now, Max: 1,
				Start: func(r store.Run, spec []byte) (store.Commit, error) {
					c, err := Started(w.now)(r, spec)
					c.Run.Session, c.Run.Answers = r.Session, r.Answers // unchanged parts are the store's
					made = c
					return c, err
				}})
			require.NoError(w, err)
			require.Len(w, claimed, 1)
			w.untouched("a", func() {
				scribble(&claimed[0].Run)
				fill(claimed[0].Spec)
				fill(made.Events[0].Body)
			})
		},
	},
}
