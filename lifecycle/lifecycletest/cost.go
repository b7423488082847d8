package lifecycletest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// costs are cases about a run's writes, counted by its store (store.Meter).
var costs = []testCase{
	{"K1 K2/of eight questions, each reply costs at most 1.3 commits", inWorld(func(w *world) {
		replied := func(id string) func(number int) {
			return func(number int) {
				_, err := w.Reply(w.ctx, id, interaction.Reply{ID: number, Text: "yes", Key: fmt.Sprint(number)})
				require.NoError(w, err)
			}
		}
		w.answersCost("one", func(n int) {
			for number := range n {
				replied("one")(number + 1)
			}
		})
		w.answersCost("all", func(n int) {
			var all sync.WaitGroup
			for number := range n {
				all.Go(func() { replied("all")(number + 1) })
			}
			all.Wait()
		})
	})},
}

// answersCost compares a run's writes from the first reply to its eight questions until success
// with the number of replies: one commit per reply, one for the run's next turn and one for its
// end.
func (w *world) answersCost(id string, answer func(n int)) {
	w.Helper()
	const replies, most = 8, 1.3
	meter, ok := w.store.(store.Meter)
	require.True(w, ok, "the store counts what it writes")
	w.agent.Plan(id, asksAll(interaction.Rule{}, strings.Split("12345678", "")...), completes("ok"))
	w.submit(id)
	parked := w.is(id, fsm.StateWaitingUser)
	require.Len(w, parked.Open, replies)
	before := meter.Counters()
	answer(replies)
	run := w.is(id, fsm.StateSucceeded)
	after := meter.Counters()
	require.Equal(w, 2, run.Attempt, "the run continued once")
	commits := after.Commits - before.Commits
	require.GreaterOrEqual(w, commits, uint64(replies), "a reply is one commit")
	require.LessOrEqual(w, float64(commits)/replies, most, "%d commits", commits)
	require.LessOrEqual(w, after.Flushes-before.Flushes, commits, "and each commit is one transaction")
}
