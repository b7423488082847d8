package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// severalDecide makes the open questions of a run approvals that so many people must approve, and two
// must reject.
func severalDecide(c store.Commit, need int) store.Commit {
	ask := func(q *interaction.Question) {
		q.Kind, q.Subject, q.Need, q.Rejects = interaction.Approval, &interaction.Subject{Tool: "pay"}, need, 2
	}
	ask(c.Run.Pending)
	for i := range c.Run.Siblings {
		ask(&c.Run.Siblings[i])
	}
	return c
}

// Voted stores a person's vote on an open approval that needs others. The run waits on.
func Voted(prev store.Run, now time.Time, number int, actor, key string) store.Commit {
	reply := interaction.Reply{ID: number, Decision: interaction.Approve, Key: key, Actor: interaction.Actor{ID: actor}}
	return Changed(prev, now, func(r *store.Run) {
		r.ReplaceQuestion(prev.OpenQuestion(number).WithVote(reply, now))
		r.Votes++
	})
}

var voteCases = []promised{
	{
		"votes/stand with their question until and after it is settled",
		"The votes on an approval that several people decide are read with it, while it is open and in the history " +
			"(K5).",
		func(w *world) {
			r := w.commit(severalDecide(AskedTogether(w.running("a"), w.tick(), 2, interaction.Rule{}), 3))
			r = w.commit(Voted(r, w.tick(), 2, "ada", "k1"))
			r = w.commit(Voted(r, w.tick(), 1, "ada", "k2"))
			r = w.commit(Voted(r, w.tick(), 2, "bob", ""))
			require.Equal(w, text(w, r), text(w, w.load("a")))
			require.Equal(w, []int{1, 2, 3}, []int{len(r.Pending.Votes), len(r.Siblings[0].Votes), r.Votes})
			settled := Recorded(r, w.tick(), 2, "k3")
			reply := interaction.Reply{ID: 2, Decision: interaction.Approve, Key: "k3",
				Actor: interaction.Actor{ID: "carl"}}
			settled.Settled[0].Question = settled.Settled[0].Question.WithVote(reply, w.now)
			settled.Run.Votes++
			r = w.commit(settled)
			w.commit(Completed(r, w.tick(), 1, ""))
			_, history, err := w.store.History(w.ctx, "a")
			require.NoError(w, err)
			require.Equal(w, []int{1, 3}, []int{len(history[0].Question.Votes), len(history[1].Question.Votes)})
			require.Equal(w, []string{"k1", "", "k3"}, []string{history[1].Question.Votes[0].Key,
				history[1].Question.Votes[1].Key, history[1].Question.Votes[2].Key})
			_, err = w.store.Settled(w.ctx, "a", "k1")
			require.ErrorIs(w, err, store.ErrNotFound, "a vote settles nothing")
		},
	},
	{
		"votes/a record that contradicts its votes is refused",
		"No record has a vote that counts twice, one that nobody gave, or more of them than the question needs (I10, " +
			"K5).",
		func(w *world) {
			r := w.running("a")
			asked := severalDecide(Asked(r, w.now, false, time.Time{}), 3)
			vote := interaction.Vote{Actor: "ada", Decision: interaction.Approve, VotedAt: w.now}
			for _, change := range []func(q *interaction.Question, r *store.Run){
				func(q *interaction.Question, r *store.Run) { q.Votes, r.Votes = []interaction.Vote{vote, vote}, 2 },
				func(q *interaction.Question, r *store.Run) { q.Votes, r.Votes = []interaction.Vote{vote}, 0 },
				func(q *interaction.Question, r *store.Run) {
					q.Need, q.Votes, r.Votes = 1, []interaction.Vote{vote}, 1
				},
				func(q *interaction.Question, r *store.Run) {
					q.Votes, r.Votes = []interaction.Vote{{Decision: interaction.Approve, VotedAt: w.now}}, 1
				},
				func(q *interaction.Question, r *store.Run) {
					q.Votes, r.Votes = []interaction.Vote{{Actor: "ada", Decision: interaction.Edit, VotedAt: w.now}}, 1
				},
				func(q *interaction.Question, r *store.Run) {
					q.Votes, r.Votes = []interaction.Vote{{Actor: "ada", Decision: interaction.Approve}}, 1
				},
				func(q *interaction.Question, _ *store.Run) { q.Need = interaction.MaxNeed + 1 },
				func(q *interaction.Question, _ *store.Run) { q.Need = -1 },
				func(q *interaction.Question, _ *store.Run) { q.Need, q.Rejects = 1, 1 },
				func(q *interaction.Question, _ *store.Run) { q.Subject = nil },
			} {
				wrong := asked
				wrong.Run = asked.Run.Clone()
				change(wrong.Run.Pending, &wrong.Run)
				w.refused(store.ErrInvalid, wrong)
			}
			r = w.commit(asked)
			r = w.commit(Voted(r, w.tick(), 1, "ada", ""))
			for _, votes := range [][]interaction.Vote{nil, {vote}} {
				w.refused(store.ErrInvalid, Changed(r, w.tick(), func(r *store.Run) { r.Pending.Votes = votes }))
			}
			w.refused(store.ErrInvalid, Changed(r, w.now, func(r *store.Run) {
				for _, who := range []string{"bob", "carl"} {
					reply := interaction.Reply{ID: 1, Decision: interaction.Reject, Actor: interaction.Actor{ID: who}}
					q := r.Pending.WithVote(reply, w.now)
					r.Pending, r.Votes = &q, r.Votes+1
					q.Rejects = 3
				}
			}))
			w.commit(Voted(r, w.tick(), 1, "bob", ""))
		},
	},
}
