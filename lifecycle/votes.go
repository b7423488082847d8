package lifecycle

import (
	"context"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// This file is about approvals that several people decide (K5). Each vote is a reply, with its own
// commit, event and receipt. Those that do not settle the question stand in the question, and with
// it in the history, so that a question and its votes never disagree.

// decideVote makes the commit of a vote that needs others: voted is the open question with it.
func decideVote(run *store.Run, voted *interaction.Question, reply interaction.Reply, now time.Time,
) (*store.Commit, error) {
	answer := reply.AnswerTo(voted, now)
	return transition(run, fsm.EventInteractionRecorded, &details{
		now: now, facts: fsm.FactPendingMatches, changed: voted, answer: &answer, voted: true,
	})
}

// modeVote is the resolution_mode of a vote that does not settle its question.
const modeVote = "vote"

// recorded is the event of an answer after which the run continues to wait.
func (d *details) recorded() *fcmp.Recorded {
	r := (*fcmp.Recorded)(replyAccepted(d.answer))
	if d.voted && d.changed != nil {
		r.ResolutionMode = modeVote
	}
	return r
}

// readVote returns the status of a reply that an earlier vote answers or refuses. If the reply has
// the key of a vote, it gets the receipt of that vote. If its author has voted on the open
// question, it is refused. The bool is false if there is no such vote.
func readVote(ctx context.Context, r store.Reader, run *Run, reply Reply) (replyStatus, bool, error) {
	if run.Votes == 0 {
		return replyStatus{}, false, nil
	}
	if reply.Key != "" {
		question, vote, err := voteWithKey(ctx, r, run, reply.Key)
		if err != nil {
			return replyStatus{}, false, err
		}
		if vote != nil {
			receipt, refusal := replayedReceipt(run.ID, votedRecord(question, vote), reply)
			return replyStatus{question: question, receipt: receipt, refusal: refusal,
				settled: true}, true, nil
		}
	}
	question := run.OpenQuestion(reply.ID)
	if question == nil {
		return replyStatus{}, false, nil
	}
	vote := question.VoteOf(reply.Actor.ID)
	if vote == nil {
		return replyStatus{}, false, nil
	}
	return replyStatus{question: question, settled: true,
		refusal: fmt.Errorf("lifecycle: reply to run %s: %w", run.ID,
			&interaction.VotedError{ID: question.ID, Vote: *vote})}, true, nil
}

// votedRecord is the record of a reply that was a vote, as far as its receipt needs it.
func votedRecord(q *Question, v *interaction.Vote) Record {
	return Record{Question: *q, Key: v.Key, Digest: v.Digest, ResolvedAt: v.VotedAt}
}

// voteWithKey returns the vote of the run with the key, and its question, open or settled; nil if
// there is none.
func voteWithKey(ctx context.Context, r store.Reader, run *Run, key string) (*Question, *interaction.Vote, error) {
	find := func(q *Question) *interaction.Vote {
		for i := range q.Votes {
			if q.Votes[i].Key == key {
				return &q.Votes[i]
			}
		}
		return nil
	}
	open := run.OpenQuestions()
	given := 0
	for i := range open {
		if vote := find(&open[i]); vote != nil {
			return &open[i], vote, nil
		}
		given += len(open[i].Votes)
	}
	if given == run.Votes { // all are on open questions
		return nil, nil, nil
	}
	_, records, err := r.History(ctx, run.ID)
	if err != nil {
		return nil, nil, err
	}
	for i := range records {
		if vote := find(&records[i].Question); vote != nil {
			return &records[i].Question, vote, nil
		}
	}
	return nil, nil, nil
}
