package lifecycle

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// MaxExtension is how far from now Extend may move a question's end.
const MaxExtension = 366 * 24 * time.Hour

// Extend moves the end of an open question's wait to a later time; its steps stay. Of concurrent
// changes, one wins.
//
// Errors, with nothing written: ErrNotFound, ErrNotAllowed, ErrNotDeputy, ErrNotWaiting, ErrSettled,
// ErrRunChanged (another caller has moved the end), ErrTooMany (MaxChanges), and an *ArgumentError:
// the question's wait has no end, or until is not later than that end and now, and at most
// MaxExtension from now. After any other error read the question: the end may have been moved.
func (c *Client) Extend(ctx context.Context, id string, question int, until time.Time) error {
	if err := c.checkQuestionCall(ctx, id, question); err != nil {
		return err
	}
	if until.IsZero() {
		return &ArgumentError{"until", until.String(), "a time", nil}
	}
	if err := validateTime("until", until); err != nil {
		return err
	}
	until = until.UTC().Truncate(time.Microsecond)
	var end time.Time // as first read
	change := func(run *Run, q *Question, by Actor, now time.Time) (*store.Commit, error) {
		switch {
		case q.EndsAt.IsZero():
			return nil, &ArgumentError{"question", strconv.Itoa(question), "one that has an end of its own", nil}
		case !end.IsZero() && !q.EndsAt.Equal(end):
			return nil, fmt.Errorf("%w: run %s: question %d ends at %s now", ErrRunChanged, id, question, q.EndsAt)
		case !until.After(q.EndsAt) || !until.After(now):
			return nil, &ArgumentError{"until", until.String(), "a time after now and after " + q.EndsAt.String(), nil}
		case until.After(now.Add(MaxExtension)):
			return nil, &ArgumentError{"until", until.String(), "at most " + MaxExtension.String() + " from now", nil}
		}
		end = q.EndsAt
		return decide.Extend(run, q, until, by, now)
	}
	return c.changeOpenQuestion(ctx, id, question, questionChange{action: ActionExtend, change: change})
}

// readOpenQuestion reads the run and the status of a reply to its question: without a reply, either
// the question is open, or the status has Reply's refusal, based on a durable read.
func (c *Client) readOpenQuestion(ctx context.Context, id string, question int) (*Run, replyStatus, error) {
	run, err := c.proc.Store.Run(ctx, id)
	if err != nil {
		return nil, replyStatus{}, err
	}
	if q := run.OpenQuestion(question); q != nil {
		return &run, replyStatus{question: q, open: true}, nil
	}
	var status replyStatus
	err = c.proc.Store.Confirm(ctx, func(r store.Reader) error {
		if run, err = r.Run(ctx, id); err != nil {
			return err
		}
		if q := run.OpenQuestion(question); q != nil {
			status = replyStatus{question: q, open: true}
			return nil
		}
		status, err = refusedReply(ctx, r, &run, question)
		return err
	})
	return &run, status, err
}
