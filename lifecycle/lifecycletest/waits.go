package lifecycletest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// This file has the sequences of events in which questions have waits of their own (K7). Because a host
// is always there after an event, the time alone says what must have been done about a question.

// boss replies, and may do so after each escalation.
var boss = lifecycle.Actor{ID: "ada", Groups: []string{"bosses"}}

// wait is the wait of each question: a reminder after d, an escalation after 2d, and the end after 4d.
func (v *variant) wait(d time.Duration) *interaction.Wait {
	w := &interaction.Wait{Then: v.then, End: 4 * d, Steps: []interaction.Step{
		{Do: interaction.Remind, After: d},
		{Do: interaction.Escalate, After: 2 * d, To: &interaction.Audience{Groups: boss.Groups}},
	}}
	if v.then == interaction.ThenDefault {
		w.Default = &interaction.DefaultReply{Text: "Do without."}
	}
	return w
}

// extend moves the end of the question that a person would reply to next.
func (l *life) extend(run *lifecycle.Run) {
	l.Helper()
	q := run.OpenQuestion(l.answers(run))
	until := q.EndsAt.Add(time.Minute)
	require.NoError(l, l.Extend(l.ctx, l.id, q.ID, until))
	require.ErrorContains(l, l.Extend(l.ctx, l.id, q.ID, until), "a time after now", "it is there already")
	l.ends[q.ID] = until
}

// checkWaits compares the open questions, and when something is next done about them, with the time.
func (l *life) checkWaits(run *lifecycle.Run) {
	l.Helper()
	if l.v.then == "" {
		return
	}
	var next time.Time
	for _, q := range run.OpenQuestions() {
		d := run.SessionTimeout
		end, moved := l.ends[q.ID]
		if !moved {
			end = q.AskedAt.Add(4 * d)
		}
		fired, due := 0, end
		for i := range 2 {
			if at := q.AskedAt.Add(time.Duration(i+1) * d); at.After(time.Now()) {
				due = at
				break
			}
			fired++
		}
		require.Equal(l, fired, q.Fired, "steps of question %d", q.ID)
		require.Equal(l, end, q.EndsAt, "end of question %d", q.ID)
		require.Equal(l, fired < 2, q.To.Admits(lifecycle.Actor{ID: "anybody"}), "who may answer question %d", q.ID)
		require.True(l, q.To.Admits(boss))
		if next.IsZero() || due.Before(next) {
			next = due
		}
	}
	require.Equal(l, next, run.Deadline)
}
