package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// readVote returns the status of a reply after an earlier vote, if any: a repeated key gets the
// vote's receipt; an author who has voted on the open question is refused.
func readVote(ctx context.Context, r store.Reader, run *Run, reply Reply) (_ replyStatus, voted bool, _ error) {
	if run.Votes == 0 {
		return replyStatus{}, false, nil
	}
	if reply.Key != "" {
		record, vote, err := voteWithKey(ctx, r, run, reply.Key)
		if err != nil {
			return replyStatus{}, false, err
		}
		if vote != nil {
			receipt, refusal := replayedReceipt(run.ID, votedRecord(&record.Question, vote), reply)
			return replyStatus{question: &record.Question, receipt: receipt, refusal: refusal, final: true}, true, nil
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
	return replyStatus{question: question, final: true,
		refusal: fmt.Errorf("lifecycle: reply to run %s: %w", run.ID,
			&interaction.VotedError{ID: question.ID, Vote: *vote})}, true, nil
}

// votedRecord is the part of a vote's record that its receipt needs.
func votedRecord(q *Question, v *interaction.Vote) Record {
	r := Record{Question: *q, Resolution: UserReply, Actor: v.Actor, Key: v.Key, Digest: v.Digest,
		ResolvedAt: v.VotedAt}
	r.Question.Votes = []interaction.Vote{*v}
	return r
}

// voteWithKey returns the run's vote with the key, and its question, open or settled; nil without
// one.
func voteWithKey(ctx context.Context, r store.Reader, run *Run, key string) (Record, *interaction.Vote, error) {
	given := 0
	for _, open := range run.Open {
		if vote := open.VoteWithKey(key); vote != nil {
			return Record{Question: open}, vote, nil
		}
		given += len(open.Votes)
	}
	if given == run.Votes { // votes belong only to settled questions
		return Record{}, nil, nil
	}
	record, err := r.Voted(ctx, run.ID, key)
	if errors.Is(err, store.ErrNotFound) {
		return Record{}, nil, nil
	}
	return record, record.Question.VoteWithKey(key), err
}
