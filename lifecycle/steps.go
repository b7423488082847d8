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

// Extend moves the end of an open question's wait to a later time; its steps stay. If it competes
// with an answer, the question's end or another caller, one of them wins.
//
// Errors, with nothing written: ErrNotFound, ErrNotAllowed, ErrNotWaiting (a *WaitError: no such
// question), ErrSettled (a *SettledError: it was answered, or its end has acted), ErrRunChanged
// (another caller has moved the end), ErrTooMany (MaxChanges), an *ArgumentError (the question's
// wait has no end, or until is not later than that end and now, and at most MaxExtension from now).
// After any other error the end may or may not have been moved: read the question.
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
	return c.changeOpenQuestion(ctx, ActionExtend, id, question, func(*Question, Actor, time.Time) (Action, error) {
		return ActionExtend, nil
	}, func(run *Run, q *Question, by Actor, now time.Time) (*store.Commit, error) {
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
	})
}

// openQuestion reads the run and its open question with that number. If it is not open, the first
// error is Reply's refusal, based on a durable read. The second error reports that the store could
// not be read.
func (c *Client) openQuestion(ctx context.Context, id string, question int) (*Run, *Question, error, error) {
	run, err := c.proc.Store.Run(ctx, id)
	if err != nil {
		return nil, nil, nil, err
	}
	if q := run.OpenQuestion(question); q != nil {
		return &run, q, nil, nil
	}
	var status replyStatus
	err = c.proc.Store.Confirm(ctx, func(r store.Reader) error {
		if run, err = r.Run(ctx, id); err != nil {
			return err
		}
		if q := run.OpenQuestion(question); q != nil {
			status = replyStatus{question: q}
			return nil
		}
		status, err = refusedReply(ctx, r, &run, question)
		return err
	})
	return &run, status.question, status.refusal, err
}
