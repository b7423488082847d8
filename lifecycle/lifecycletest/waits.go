package lifecycletest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// The sequences of events in which questions have waits (K7). A host always runs after an event, so
// time determines what must have happened to a question.

// boss replies, and may do so after each escalation.
var boss = lifecycle.Actor{ID: "ada", Groups: []string{"bosses"}}

// wait is the wait of each question: a reminder after d, an escalation after 2d, and the end after
// 4d.
func (v *variant) wait(d time.Duration) *interaction.Wait {
	w := &interaction.Wait{Then: v.then, End: 4 * d, Steps: []interaction.WaitStep{
		{Do: interaction.Remind, After: d},
		{Do: interaction.Escalate, After: 2 * d, To: &interaction.Audience{Groups: boss.Groups}},
	}}
	if v.then == interaction.ThenDefault {
		w.Default = &interaction.DefaultReply{Text: "Do without."}
	}
	return w
}

func (l *life) extend(run *lifecycle.Run) {
	l.Helper()
	q := run.OpenQuestion(l.answers(run))
	until := q.EndsAt.Add(time.Minute)
	require.NoError(l, l.Extend(l.ctx, l.id, q.ID, until))
	require.ErrorContains(l, l.Extend(l.ctx, l.id, q.ID, until), "a time after now", "it is there already")
	l.ends[q.ID] = until
}

// change changes the question for the next reply: its end if it has one, its claim, or, for an
// approval by several people, its audience.
func (l *life) change(run *lifecycle.Run) {
	l.Helper()
	switch q := run.OpenQuestion(l.answers(run)); {
	case l.v.then != "":
		l.extend(run)
	case l.v.votes:
		require.ErrorIs(l, l.As(boss).Reassign(l.ctx, l.id, q.ID, &lifecycle.Audience{Users: []string{"nobody"}},
			lifecycle.Audience{Everybody: true}), lifecycle.ErrReassigned)
		require.NoError(l, l.As(boss).Reassign(l.ctx, l.id, q.ID, q.To, lifecycle.Audience{Groups: boss.Groups}))
	default:
		require.NoError(l, l.As(boss).Claim(l.ctx, l.id, q.ID, time.Now().Add(time.Minute)))
		stranger := l.As(lifecycle.Actor{ID: "stranger"})
		_, err := stranger.Reply(l.ctx, l.id, interaction.Reply{ID: q.ID, Text: "Stop."})
		require.ErrorIs(l, err, lifecycle.ErrClaimed)
		require.ErrorIs(l, stranger.Claim(l.ctx, l.id, q.ID, time.Now().Add(time.Hour)), lifecycle.ErrClaimed)
	}
}

func (v *variant) prompts() []string {
	if v.several {
		return []string{"Well?", "Really?", "Ready?"}
	}
	return []string{"Well?"}
}

// vote has the next person approve, and then try to withdraw it.
func (l *life) vote(run *lifecycle.Run, q *lifecycle.Question) {
	l.Helper()
	who := lifecycle.Actor{ID: []string{boss.ID, "bob"}[len(q.Votes)], Groups: boss.Groups}
	reply := interaction.Reply{ID: q.ID, Decision: interaction.Approve, Actor: who}
	_, err := l.Reply(l.ctx, l.id, reply)
	require.NoError(l, err)
	reply.Decision = interaction.Reject
	_, err = l.Reply(l.ctx, l.id, reply)
	if len(q.Votes) == 0 {
		require.ErrorIs(l, err, lifecycle.ErrVoted)
	} else {
		require.ErrorIs(l, err, lifecycle.ErrSettled, run.State)
	}
}

// checkWaits compares the open questions, and when something is next done about them, with the
// time.
func (l *life) checkWaits(run *lifecycle.Run) {
	l.Helper()
	if l.v.then == "" {
		return
	}
	var next time.Time
	for _, q := range run.Open {
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
		require.Equal(l, fired, int(q.Fired), "steps of question %d", q.ID)
		require.Equal(l, end, q.EndsAt, "end of question %d", q.ID)
		require.Equal(l, fired < 2, q.To.Admits(lifecycle.Actor{ID: "anybody"}), "who may answer question %d", q.ID)
		require.True(l, q.To.Admits(boss))
		if next.IsZero() || due.Before(next) {
			next = due
		}
	}
	require.Equal(l, next, run.Deadline)
}
