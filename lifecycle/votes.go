package lifecycle

import (
	"context"
	"fmt"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

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
	vote := question.VoteOf(reply.Actor)
	if vote == nil {
		return replyStatus{}, false, nil
	}
	return replyStatus{question: question, settled: true,
		refusal: fmt.Errorf("lifecycle: reply to run %s: %w", run.ID,
			&interaction.VotedError{ID: question.ID, Vote: *vote})}, true, nil
}

// votedRecord is the record of a reply that was a vote, as far as its receipt needs it.
func votedRecord(q *Question, v *interaction.Vote) Record {
	return Record{Question: *q, Actor: v.Actor, Key: v.Key, Digest: v.Digest, ResolvedAt: v.VotedAt}
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
