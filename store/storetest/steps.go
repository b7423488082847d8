package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// waits gives the open questions of a run waits: reminders a minute apart, and the run's failure
// after an hour.
func waits(c store.Commit) store.Commit {
	number := 0
	for i := range c.Run.Open {
		q := &c.Run.Open[i]
		number++
		q.Wait = &interaction.Wait{End: time.Hour, Then: interaction.ThenFail, Steps: []interaction.WaitStep{
			{Do: interaction.Remind, After: time.Duration(number) * time.Minute},
		}}
		q.StartWait()
	}
	c.Run.Deadline, _ = c.Run.NextDue()
	return c
}

// stepped carries out the next step of the run's questions.
func stepped(prev store.Run, now time.Time) store.Commit {
	_, q := prev.NextDue()
	return Changed(prev, now, func(r *store.Run) {
		r.ReplaceQuestion(q.Fire())
		r.Deadline, _ = r.NextDue()
	})
}

var stepCases = []promised{
	{
		"steps/the deadline of a run is the next step of its questions",
		"A run is due when the next step or end of one of its open questions is due, and not before; an executed " +
			"step makes it due at the next one (K7).",
		func(w *world) {
			r := w.commit(waits(AskedTogether(w.running("a"), w.tick(), 2, interaction.Rule{})))
			asked := r.Open[0].AskedAt
			for i, at := range []time.Duration{time.Minute, 2 * time.Minute, time.Hour} {
				due, next, err := w.store.Due(w.ctx, asked.Add(at-time.Microsecond), 10)
				require.NoError(w, err)
				require.Empty(w, due)
				require.Equal(w, asked.Add(at), next)
				due, _, err = w.store.Due(w.ctx, asked.Add(at), 10)
				require.NoError(w, err)
				require.Len(w, due, 1)
				require.Equal(w, text(w, r), text(w, due[0]))
				if i < 2 {
					w.now = asked.Add(at)
					r = w.commit(stepped(r, w.now))
					require.Equal(w, text(w, r), text(w, w.load("a")))
				}
			}
			require.Equal(w, []int8{1, 1}, []int8{r.Open[0].Fired, r.Open[1].Fired})
		},
	},
	{
		"steps/an escalation changes who finds the question",
		"An escalated question is found by its new audience, and by no one else (K7, K9).",
		func(w *world) {
			c := AskedTogether(w.running("a"), w.tick(), 2, interaction.Rule{})
			c.Run.Open[0].To, c.Run.Open[1].To = toAda, toAda
			for _, q := range []*interaction.Question{c.Run.FirstOpen(), &c.Run.Open[1]} {
				q.Wait = &interaction.Wait{Steps: []interaction.WaitStep{
					{Do: interaction.Escalate, After: time.Minute, To: toFinance},
					{Do: interaction.Escalate, After: 2 * time.Minute, To: toAda, Join: true},
				}}
			}
			c.Run.Deadline, _ = c.Run.NextDue()
			r := w.commit(c)
			finance := &interaction.Actor{ID: "eve", Groups: toFinance.Groups}
			found := func(who *interaction.Actor) bool {
				return len(w.waitsFor(store.WaitingQuery{For: who, Query: store.Query{Limit: 2}}, nil)) > 0
			}
			for i, want := range [][2]bool{{true, false}, {true, true}, {false, true}, {true, true}} {
				if i > 0 {
					w.now = r.Deadline
					r = w.commit(stepped(r, w.now))
				}
				require.Equal(w, want, [2]bool{found(adaAlone), found(finance)}, "ada, finance after %d steps", i)
				w.judgeWaiting(1, 50)
			}
		},
	},
	{
		"steps/a record with contradictory waits is refused",
		"What a record says about its questions' waits agrees with itself and with its deadline (I10, K7).",
		func(w *world) {
			r := w.running("a")
			for _, c := range []struct {
				name   string
				change func(c *store.Commit)
			}{
				{"only one has a wait", func(c *store.Commit) { c.Run.Open[1].Wait = nil }},
				{"a deadline of its own", func(c *store.Commit) { c.Run.Deadline = c.Run.Deadline.Add(time.Second) }},
				{"no deadline", func(c *store.Commit) { c.Run.Deadline = time.Time{} }},
				{"a step more than there are", func(c *store.Commit) { c.Run.Open[1].Fired = 2 }},
				{"steps less than none", func(c *store.Commit) { c.Run.Open[0].Fired = -1 }},
				{"no end", func(c *store.Commit) { c.Run.Open[1].EndsAt = time.Time{} }},
				{"an end in nanoseconds", func(c *store.Commit) {
					c.Run.Open[1].EndsAt = c.Run.Open[1].EndsAt.Add(time.Nanosecond)
				}},
				{"an end without its consequence", func(c *store.Commit) { c.Run.Open[0].Wait.Then = "" }},
			} {
				commit := waits(AskedTogether(r, w.now, 2, interaction.Rule{}))
				c.change(&commit)
				w.refused(store.ErrInvalid, commit)
			}
			w.commit(waits(AskedTogether(r, w.now, 2, interaction.Rule{})))
		},
	},
}
