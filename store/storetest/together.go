package storetest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

func (w *world) waitingWith(id string, questions int, rule interaction.Rule) store.Run {
	w.Helper()
	return w.commit(AskedTogether(w.running(id), w.tick(), questions, rule))
}

// settledNumbers returns the numbers of the settled and of the open questions, and checks that
// every other way to read them agrees.
func (w *world) settledNumbers(id string) (settled, open []int) {
	w.Helper()
	run, history, err := store.ReadHistory(w.ctx, w.store, id)
	require.NoError(w, err)
	for _, r := range history {
		settled = append(settled, r.Question.ID)
		one, err := w.store.Interaction(w.ctx, id, r.Question.ID)
		require.NoError(w, err)
		require.Equal(w, r, one)
	}
	for _, q := range run.Open {
		open = append(open, q.ID)
		require.ErrorIs(w, second(w.store.Interaction(w.ctx, id, q.ID)), store.ErrNotFound)
	}
	return settled, open
}

var togetherCases = []promised{
	{
		"together/refuses a commit that contradicts the questions",
		"A question is removed only by being settled, once and while it is open; none is added while the run waits " +
			"(I8, K2).",
		func(w *world) {
			w.Helper()
			running := w.running("a")
			refuses(w, AskedTogether(running, w.tick(), 3, interaction.Rule{}), []fault{
				{"a number is left out", func(c *store.Commit) { c.Run.Open[2].ID++ }},
				{"a number stands twice", func(c *store.Commit) { c.Run.Open[2].ID-- }},
				{"they begin at another number", func(c *store.Commit) { c.Run.Together.First++ }},
				{"there are fewer", func(c *store.Commit) { c.Run.Open = c.Run.Open[:2] }},
				{"they were not asked together", func(c *store.Commit) { c.Run.Together = nil }},
				{"more than there may be", func(c *store.Commit) {
					*c = AskedTogether(running, w.now, interaction.MaxQuestions+1, interaction.Rule{})
				}},
				{"asked at no time", func(c *store.Commit) { c.Run.Open[1].AskedAt = time.Time{} }},
				{"a prompt that is not UTF-8", func(c *store.Commit) { c.Run.Open[2].Prompt = "\xff" }},
				{"hints of no JSON type", func(c *store.Commit) {
					c.Run.Open[1].UIHints = map[string]any{"rows": 3}
				}},
				{"a reply before any", func(c *store.Commit) { c.Run.Together.Replies = 1 }},
				{"a rule without sense", func(c *store.Commit) { c.Run.Together.Rule.Answers = -1 }},
				{"an answer of one question", func(c *store.Commit) { c.Run.Answers = []interaction.Answer{{ID: 1}} }},
			})
			r := w.load("a")
			refuses(w, Recorded(r, w.tick(), 2, "k"), []fault{
				{"not settled", func(c *store.Commit) { c.Settled = nil }},
				{"another question is settled", func(c *store.Commit) { c.Settled[0].Question.ID = 1 }},
				{"a question that there is not", func(c *store.Commit) { c.Settled[0].Question.ID = 4 }},
				{"still open", func(c *store.Commit) { c.Run.Open = r.Open }},
				{"one more goes", func(c *store.Commit) { c.Run.CloseQuestion(3) }},
				{"settled twice", func(c *store.Commit) { c.Settled = append(c.Settled, c.Settled[0]) }},
				{"a question comes", func(c *store.Commit) {
					q := c.Run.Open[0]
					q.ID = 4
					c.Run.Open, c.Run.Interactions = append(c.Run.Open, q), 4
				}},
			})
			r = w.load("a")
			w.refused(store.ErrInvalid, func() store.Commit {
				c := Changed(r, w.tick(), func(*store.Run) {})
				c.Settled = []interaction.Record{w.snapshot("a").History[0]}
				return c
			}())
			refuses(w, Completed(r, w.tick(), 1, "l"), []fault{
				{"one goes without being settled", func(c *store.Commit) { c.Settled = c.Settled[:1] }},
				{"out of order", func(c *store.Commit) { c.Settled[0], c.Settled[1] = c.Settled[1], c.Settled[0] }},
				{"two keys", func(c *store.Commit) { c.Settled[1].Key = "m" }},
				{"a sibling is left open", func(c *store.Commit) { c.Run.Open = r.Open[1:] }},
			})
		},
	},
	{
		"together/replies to several questions conflict",
		"Of commits that settle different questions of one run on one version, one is stored; each of the others " +
			"can be stored after it, based on the new version (K2, I1).",
		func(w *world) {
			const questions = 8
			r := w.waitingWith("a", questions, interaction.Rule{})
			now := w.tick()
			var lost atomic.Int64
			var replies sync.WaitGroup
			for number := 1; number <= questions; number++ {
				replies.Go(func() {
					for prev, first := r, true; ; first = false {
						if !first {
							var err error
							if prev, err = w.store.Run(w.ctx, "a"); err != nil {
								w.Errorf("question %d: %v", number, err)
								return
							}
						}
						c := Recorded(prev, now, number, "")
						if len(prev.Open) == 1 {
							c = Completed(prev, now, number, "")
						}
						if w.store.Commit(w.ctx, []store.Commit{c})[0] == nil {
							return
						}
						lost.Add(1)
					}
				})
			}
			replies.Wait()
			require.GreaterOrEqual(w, lost.Load(), int64(questions-1), "all began with one version")
			settled, open := w.settledNumbers("a")
			require.Len(w, settled, questions)
			require.Empty(w, open)
			require.Equal(w, fsm.StateQueued, w.load("a").State)
		},
	},
}
