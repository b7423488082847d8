package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// severalDecide makes the open questions approvals that need this many people to approve, and two
// to reject.
func severalDecide(c store.Commit, need int8) store.Commit {
	for i := range c.Run.Open {
		q := &c.Run.Open[i]
		q.Kind, q.Subject, q.Need, q.Rejects = interaction.Approval, &interaction.Subject{Tool: "pay"}, need, 2
	}
	return c
}

// Voted stores a person's vote on an approval that needs more votes. The run keeps waiting.
func Voted(prev store.Run, now time.Time, number int, actor, key string) store.Commit {
	reply := interaction.Reply{ID: number, Decision: interaction.Approve, Key: key, Actor: interaction.Actor{ID: actor}}
	return Changed(prev, now, func(r *store.Run) {
		r.ReplaceQuestion(prev.OpenQuestion(number).WithVote(reply, now))
		r.Votes++
	})
}

// Noted stores a note on an open question. The run keeps waiting.
func Noted(prev store.Run, now time.Time, number int, text string) store.Commit {
	return Changed(prev, now, func(r *store.Run) {
		q := *prev.OpenQuestion(number)
		q.Notes = q.Notes.With(interaction.Note{Text: text, Actor: "ada", NotedAt: now, Key: text})
		r.ReplaceQuestion(q)
	})
}

var voteCases = []promised{
	{
		"votes/are read with their question",
		"The votes on an approval that several people decide are read with it, while it is open and in the history " +
			"(K5).",
		func(w *world) {
			r := w.commit(severalDecide(AskedTogether(w.running("a"), w.tick(), 2, interaction.Rule{}), 3))
			r = w.commit(Voted(r, w.tick(), 2, "ada", "k1"))
			r = w.commit(Voted(r, w.tick(), 1, "ada", "k2"))
			r = w.commit(Voted(r, w.tick(), 2, "bob", ""))
			require.Equal(w, text(w, r), text(w, w.load("a")))
			require.Equal(w, []int{1, 2, 3}, []int{len(r.Open[0].Votes), len(r.Open[1].Votes), r.Votes})
			settled := Recorded(r, w.tick(), 2, "k3")
			reply := interaction.Reply{ID: 2, Decision: interaction.Approve, Key: "k3",
				Actor: interaction.Actor{ID: "carl"}}
			settled.Settled[0].Question = settled.Settled[0].Question.WithVote(reply, w.now)
			settled.Run.Votes++
			r = w.commit(settled)
			w.commit(Completed(r, w.tick(), 1, ""))
			_, history, err := store.ReadHistory(w.ctx, w.store, "a")
			require.NoError(w, err)
			require.Equal(w, []int{1, 3}, []int{len(history[0].Question.Votes), len(history[1].Question.Votes)})
			require.Equal(w, []string{"k1", "", "k3"}, []string{history[1].Question.Votes[0].Key,
				history[1].Question.Votes[1].Key, history[1].Question.Votes[2].Key})
			_, err = w.store.Settled(w.ctx, "a", "k1")
			require.ErrorIs(w, err, store.ErrNotFound, "a vote settles nothing")
		},
	},
	{
		"votes/a settled approval is found by the key of a vote",
		"A settled question is found by the key of one of its votes, whatever characters the key has; votes on " +
			"open questions, keys of other replies and similar texts are not found (C5, K5).",
		func(w *world) {
			const key = "<k> \"1\" ü\u2028"
			r := w.commit(severalDecide(AskedTogether(w.running("a"), w.tick(), 3, interaction.Rule{}), 3))
			r.Open[0].Subject.Arguments = []byte(`{"key":"open"}`)
			for i, k := range []string{key, "other"} {
				r = w.commit(Voted(r, w.tick(), i+1, "ada", k))
				require.ErrorIs(w, second(w.store.Voted(w.ctx, "a", k)), store.ErrNotFound, "it is open")
			}
			r = w.commit(Recorded(r, w.tick(), 1, "last"))
			w.commit(Recorded(r, w.tick(), 2, ""))
			for _, s := range []store.Store{w.store, w.also()} {
				for i, k := range []string{key, "other"} {
					got, err := s.Voted(w.ctx, "a", k)
					require.NoError(w, err)
					want, err := s.Interaction(w.ctx, "a", i+1)
					require.NoError(w, err)
					require.Equal(w, want, got)
				}
				for _, k := range []string{"last", "open", "", "k", "<k>"} {
					require.ErrorIs(w, second(s.Voted(w.ctx, "a", k)), store.ErrNotFound, "key %q", k)
				}
			}
			require.ErrorIs(w, second(w.store.Voted(w.ctx, "nowhere", key)), store.ErrNotFound)
		},
	},
	{
		"votes/a key is found among many votes",
		"Each vote on any settled question is found by its key, also where votes have no keys or a person has " +
			"rejected; a pruned run leaves none (C5, K5, I9).",
		func(w *world) { manyVotes(w, "r", func() {}) },
	},
	{
		"votes/a record that contradicts its votes is refused",
		"No record has a vote that counts twice, a vote without an author, or more votes than the question needs " +
			"(I10, K5).",
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
				change(wrong.Run.FirstOpen(), &wrong.Run)
				w.refused(store.ErrInvalid, wrong)
			}
			r = w.commit(asked)
			r = w.commit(Voted(r, w.tick(), 1, "ada", ""))
			for _, votes := range [][]interaction.Vote{nil, {vote}} {
				w.refused(store.ErrInvalid, Changed(r, w.tick(), func(r *store.Run) { r.Open[0].Votes = votes }))
			}
			w.refused(store.ErrInvalid, Changed(r, w.now, func(r *store.Run) {
				for _, who := range []string{"bob", "carl"} {
					reply := interaction.Reply{ID: 1, Decision: interaction.Reject, Actor: interaction.Actor{ID: who}}
					q := r.Open[0].WithVote(reply, w.now)
					r.Open, r.Votes = []interaction.Question{q}, r.Votes+1
					q.Rejects = 3
				}
			}))
			w.commit(Voted(r, w.tick(), 1, "bob", ""))
		},
	}, {
		"notes/are read with their question",
		"The notes on an open question are read with it, and stay in the history; a commit keeps them, and adds at " +
			"most one to a question (N7).",
		func(w *world) {
			r := w.commit(AskedTogether(w.running("a"), w.tick(), 2, interaction.Rule{}))
			for _, note := range []string{"first", "second <\u2028>"} {
				r = w.commit(Noted(r, w.tick(), 2, note))
			}
			require.Equal(w, text(w, r), text(w, w.load("a")))
			type notes = interaction.Notes
			for name, change := range map[string]func(n *notes) *notes{
				"all are lost":     func(*notes) *notes { return nil },
				"one is lost":      func(n *notes) *notes { return (*notes)(nil).With(n.List[0]) },
				"one is different": func(n *notes) *notes { n.List[0].Actor = "eve"; return n },
				"two are new":      func(n *notes) *notes { return n.With(n.List[0]).With(n.List[0]) },
				"a wrong count":    func(n *notes) *notes { n.Bytes++; return n },
				"an empty list":    func(*notes) *notes { return &notes{} },
				"a blank one":      func(n *notes) *notes { return n.With(interaction.Note{NotedAt: w.now}) },
				"one without time": func(n *notes) *notes { return n.With(interaction.Note{Text: "x"}) },
			} {
				w.Log(name)
				w.refused(store.ErrInvalid, Changed(r, w.tick(), func(r *store.Run) {
					q := r.Open[1]
					q.Notes = change(q.Notes.Clone())
					r.ReplaceQuestion(q)
				}))
			}
			lost := Recorded(r, w.tick(), 2, "k")
			lost.Settled[0].Question.Notes = nil
			w.refused(store.ErrInvalid, lost)
			r = w.commit(Recorded(r, w.now, 2, "k"))
			w.commit(Completed(r, w.tick(), 1, ""))
			_, history, err := store.ReadHistory(w.ctx, w.store, "a")
			require.NoError(w, err)
			require.Nil(w, history[0].Question.Notes)
			require.Equal(w, "second <\u2028>", history[1].Question.Notes.List[1].Text)
		},
	}, {
		"claims/are read with their question",
		"A claim of an open question is read with it. A reassignment changes who finds the question in the same " +
			"commit (K5, K9).",
		func(w *world) {
			asked := AskedTogether(w.running("a"), w.tick(), 2, interaction.Rule{})
			asked.Run.Open[0].To = &interaction.Audience{Users: []string{"ada"}}
			asked.Run.Open[1].To = &interaction.Audience{Users: []string{"bob"}, Groups: []string{"finance"}}
			r := w.commit(asked)
			require.Equal(w, []bool{true, true, false}, w.isAsked("a", "ada", "bob", "eve"))
			r = w.commit(Changed(r, w.tick(), func(r *store.Run) {
				q := r.Open[1].ClaimedBy(interaction.Actor{ID: "bob", Via: "web"}, w.now.Add(time.Hour))
				r.ReplaceQuestion(q)
			}))
			require.Equal(w, text(w, r), text(w, w.load("a")))
			require.Equal(w, "bob", r.Open[1].Claim.Actor)
			r = w.commit(Changed(r, w.tick(), func(r *store.Run) {
				r.ReplaceQuestion(r.Open[1].PutTo(interaction.Audience{Users: []string{"eve"}}))
			}))
			require.Nil(w, r.Open[1].Claim)
			require.Equal(w, []bool{true, false, true}, w.isAsked("a", "ada", "bob", "eve"))
			r = w.commit(Changed(r, w.tick(), func(r *store.Run) {
				r.ReplaceQuestion(r.Open[0].PutTo(interaction.Audience{Everybody: true, Except: []string{"eve"}}))
			}))
			require.Equal(w, []bool{true, true, true}, w.isAsked("a", "ada", "bob", "eve"))
			r = w.commit(Changed(r, w.tick(), func(r *store.Run) {
				r.ReplaceQuestion(r.Open[0].PutTo(interaction.Audience{Groups: []string{"sales"}}))
			}))
			require.Equal(w, []bool{false, false, true}, w.isAsked("a", "ada", "bob", "eve"))
			w.commit(Completed(r, w.tick(), 1, ""))
			require.Equal(w, []bool{false, false, false}, w.isAsked("a", "ada", "bob", "eve"))
		},
	},
	{
		"claims/a record with an invalid claim is refused",
		"A claim has a name and an end, and a question that several people decide has no claim (I10, K5).",
		func(w *world) {
			r := w.running("a")
			asked := Asked(r, w.now, false, time.Time{})
			until := w.now.Add(time.Hour)
			for _, claim := range []interaction.Claim{
				{Until: until}, {Actor: "ada"}, {Actor: "ada", Until: until.Add(time.Nanosecond)},
			} {
				wrong := asked
				wrong.Run = asked.Run.Clone()
				wrong.Run.Open[0].Claim = &claim
				w.refused(store.ErrInvalid, wrong)
			}
			wrong := severalDecide(asked, 2)
			wrong.Run.Open[0].Claim = &interaction.Claim{Actor: "ada", Until: until}
			w.refused(store.ErrInvalid, wrong)
		},
	},
}

// isAsked reports for each person whether its open questions are of the run.
func (w *world) isAsked(run string, people ...string) (asked []bool) {
	w.Helper()
	for _, who := range people {
		page, err := w.store.Waiting(w.ctx, store.WaitingQuery{For: &interaction.Actor{ID: who},
			Query: store.Query{Limit: 10}})
		require.NoError(w, err)
		asked = append(asked, len(page.Runs) == 1 && page.Runs[0].ID == run)
	}
	return asked
}

// manyVotes finds votes on several questions by their keys, before and after lose.
func manyVotes(w *world, id string, lose func()) {
	r := w.running(id)
	for i := range 4 {
		asked := severalDecide(Asked(r, w.tick(), false, w.now), 3)
		number := asked.Run.Open[0].ID
		r = w.commit(asked)
		r = w.commit(Voted(r, w.tick(), number, "ada", fmt.Sprint("a", i)))
		r = w.commit(Voted(r, w.tick(), number, "bob", ""))
		w.commit(Answered(r, w.tick(), fmt.Sprint("reply", i)))
		r = w.start("n")
	}
	found := func() {
		for _, s := range []store.Store{w.store, w.also()} {
			for i := range 4 {
				got, err := s.Voted(w.ctx, id, fmt.Sprint("a", i))
				require.NoError(w, err)
				require.Equal(w, i+1, got.Question.ID)
			}
			for _, key := range []string{"", "a", "a4", "reply1"} {
				require.ErrorIs(w, second(s.Voted(w.ctx, id, key)), store.ErrNotFound, "key %q", key)
			}
		}
	}
	found()
	lose()
	found()
	w.commit(ended(r, w.tick(), "canceled"))
	_, err := w.store.Prune(w.ctx, w.tick(), 10)
	require.NoError(w, err)
	r = w.running(id)
	require.ErrorIs(w, second(w.store.Voted(w.ctx, id, "a1")), store.ErrNotFound)
	w.commit(ended(r, w.tick(), "canceled"))
}
