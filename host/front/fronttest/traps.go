package fronttest

import (
	"context"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/lifecycle"
)

// Traps is the table of promises. Each front end keeps all of them.
var Traps = []Trap{
	{"a run that already waits is reported",
		"A stream on a run that already waits gets no event any more: read the " +
			"run first, and events afterwards.", func(w *world) {
			run := w.start(oneText)
			for range 2 {
				require.Equal(w, Seen{Questions: []int{1}}, w.see(run))
			}
		}},
	{"a run that has ended is reported",
		"A stream on a run that has ended gets no event any more.", func(w *world) {
			run := w.start(noQuestion)
			for range 2 {
				s := w.see(run)
				require.True(w, s.Ended)
				require.Contains(w, s.Result, "nothing to ask")
			}
		}},
	{"an answer arrives",
		"The agent gets the person's text.", func(w *world) {
			run := w.start(oneText)
			w.answer(run, "m1", Answer{Question: 1, Text: "tea"})
			s := w.seeEnd(run)
			require.True(w, s.Ended)
			require.Contains(w, s.Result, "tea")
			require.Equal(w, "ada", w.history(run)[0].Actor)
			require.NotEmpty(w, w.history(run)[0].Via, "the record names the front end")
			require.NotEmpty(w, w.history(run)[0].Key, "each answer has a key")
		}},
	{"a question with Only accepts its options",
		"Any other answer is refused before anything is stored.", func(w *world) {
			run := w.start(yesOrNo)
			_ = w.frontEnd.Answer(w.ctx, "ada", run, "m1", Answer{Question: 1, Text: "perhaps"}) // perhaps an error
			require.Empty(w, w.history(run)[0].Resolution)
			require.Equal(w, Seen{Questions: []int{1}}, w.see(run))
			w.answer(run, "m2", Answer{Question: 1, Text: "yes"})
			require.True(w, w.seeEnd(run).Ended)
		}},
	{"a partial answer leaves the other questions",
		"A partial answer emits no new question: look at the run again after " +
			"interaction.recorded.", func(w *world) {
			run := w.start(twoTexts)
			require.Equal(w, Seen{Questions: []int{1, 2}}, w.see(run))
			w.answer(run, "m1", Answer{Question: 2, Text: "second"})
			require.Equal(w, Seen{Questions: []int{1}}, w.see(run))
			w.answer(run, "m2", Answer{Question: 1, Text: "first"})
			require.True(w, w.seeEnd(run).Ended)
		}},
	{"a repeated answer never meets the next question",
		"Clients resend answers: after a lost response, or with the whole " +
			"conversation.", func(w *world) {
			run := w.start(twoRounds)
			first := Answer{Question: 1, Text: "tea"}
			w.answer(run, "m1", first)
			w.until(run, func(r *lifecycle.Run) bool { return len(r.Open) > 0 && r.Open[0].ID == 2 })
			for range 3 {
				_ = w.frontEnd.Answer(w.ctx, "ada", run, "m1", first) // an acknowledgement or an error, and no effect
			}
			require.Equal(w, Seen{Questions: []int{2}}, w.see(run))
			require.Len(w, w.history(run), 2)
			w.answer(run, "m2", Answer{Question: 2, Text: "tea"})
			require.True(w, w.seeEnd(run).Ended, "the same text answers the next question")
		}},
	{"a second decision does not count",
		"The key includes the decision: the second, different button shows that the question " +
			"was decided.", func(w *world) {
			run := w.start(approval)
			w.answer(run, "m1", Answer{Question: 1, Decision: lifecycle.Approve})
			w.until(run, func(r *lifecycle.Run) bool { return r.State.Terminal() })
			_ = w.frontEnd.Answer(w.ctx, "ada", run, "m1", Answer{Question: 1, Decision: lifecycle.Reject})
			require.Equal(w, lifecycle.Approve, w.history(run)[0].Decision)
			require.True(w, w.seeEnd(run).Ended)
		}},
	{"a caller who may not answer is not asked",
		"The submitter's own client is the usual caller: report that the run waits " +
			"for others.", func(w *world) {
			run := w.start(reviewed)
			s := w.see(run)
			require.Empty(w, s.Questions)
			require.False(w, s.Ended)
			require.NotEmpty(w, s.Status)
			_ = w.frontEnd.Answer(w.ctx, "ada", run, "m1", Answer{Question: 1, Decision: lifecycle.Approve})
			require.Empty(w, w.history(run)[0].Resolution, "the submitter cannot approve")
			_, err := w.host.As(lifecycle.Actor{ID: "ops"}).Reply(w.ctx, run,
				lifecycle.Reply{ID: 1, Decision: lifecycle.Approve})
			require.NoError(w, err)
			require.True(w, w.seeEnd(run).Ended)
		}},
	{"a deputy is asked for the absent person",
		"The record names both. Without a readable directory there are no deputies.", func(w *world) {
			run := w.start(absent)
			w.people.broken.Store(true)
			s := w.see(run)
			require.Empty(w, s.Questions)
			require.NotEmpty(w, s.Status)
			w.people.broken.Store(false)
			require.Equal(w, Seen{Questions: []int{1}}, w.see(run))
			w.answer(run, "m1", Answer{Question: 1, Text: "tea"})
			require.True(w, w.seeEnd(run).Ended)
			record := w.history(run)[0]
			require.Equal(w, "ada for ann", record.Actor+" for "+record.For())
			_ = w.frontEnd.Answer(w.ctx, "ada", run, "m1", Answer{Question: 1, Text: "tea"})
			require.Len(w, w.history(run), 1)
		}},
	{"a claimed question is not asked",
		"Another person works on it.", func(w *world) {
			run := w.start(oneText)
			bob := w.host.As(lifecycle.Actor{ID: "ops"})
			require.NoError(w, bob.Claim(w.ctx, run, 1, w.host.Now().Add(time.Hour)))
			s := w.see(run)
			require.Empty(w, s.Questions)
			require.False(w, s.Ended)
			require.NoError(w, bob.Release(w.ctx, run, 1))
			require.Equal(w, []int{1}, w.see(run).Questions)
		}},
	{"dismissing is not rejecting",
		"A closed dialog leaves the question open.", func(w *world) {
			for _, prompt := range []string{oneText, approval} {
				run := w.start(prompt)
				require.NoError(w, w.frontEnd.Dismiss(w.ctx, "ada", run, 1))
				require.Empty(w, w.history(run)[0].Resolution)
				require.Equal(w, []int{1}, w.see(run).Questions)
			}
		}},
	{"a client that leaves ends no run",
		"A client's timeout and a closed stream end the call only.", func(w *world) {
			run := w.start(endless)
			ctx, leave := context.WithTimeout(w.ctx, 50*time.Millisecond)
			defer leave()
			_, _ = w.frontEnd.See(ctx, "ada", run)
			r, err := w.host.Get(w.ctx, run)
			require.NoError(w, err)
			require.False(w, r.State.Terminal())
			require.NoError(w, w.host.Cancel(w.ctx, run, "the test has ended"))
			require.True(w, w.seeEnd(run).Ended)
		}},
	{"an answer from another front end ends the wait",
		"Whoever answers, each front end continues.", func(w *world) {
			run := w.start(reviewed)
			seen := make(chan Seen, 1)
			go func() {
				for {
					s, err := w.frontEnd.See(w.ctx, "ada", run)
					if err != nil || s.Ended {
						seen <- s
						return
					}
				}
			}()
			_, err := w.host.As(lifecycle.Actor{ID: "ops"}).Reply(w.ctx, run,
				lifecycle.Reply{ID: 1, Decision: lifecycle.Reject, Text: "too much"})
			require.NoError(w, err)
			require.True(w, (<-seen).Ended)
		}},
	{"another person's run looks like none",
		"Ids are the client's choice; unknown and not allowed look alike.", func(w *world) {
			run := w.start(oneText)
			_, foreign := w.frontEnd.See(w.ctx, "eve", run)
			_, unknown := w.frontEnd.See(w.ctx, "eve", "x"+run[1:])
			require.Error(w, foreign)
			require.Error(w, unknown)
			require.Equal(w, unknown.Error(), foreign.Error())
			require.Error(w, w.frontEnd.Answer(w.ctx, "eve", run, "m1", Answer{Question: 1, Text: "mine"}))
			require.Empty(w, w.history(run)[0].Resolution)
		}},
	{"errors have no text of the store",
		"It may name files, hosts and other runs.", func(w *world) {
			run := w.start(oneText)
			w.store.broken.Store(true)
			defer w.store.broken.Store(false)
			_, err := w.frontEnd.See(w.ctx, "ada", run)
			require.Error(w, err)
			require.NotContains(w, fmt.Sprint(err), storeText)
			err = w.frontEnd.Answer(w.ctx, "ada", run, "m1", Answer{Question: 1, Text: "tea"})
			require.NotContains(w, fmt.Sprint(err), storeText)
		}},
}
