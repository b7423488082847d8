package cast

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// Insist makes a call until its outcome is known, as docs/production.md recommends to people and
// programs: until it succeeds, or fails with an error that is definite. Between two calls it
// pauses. It returns the last error when ctx ends.
func Insist(ctx context.Context, pause time.Duration, definite func(error) bool, call func() error) error {
	for {
		err := call()
		if err == nil || definite(err) || ctx.Err() != nil {
			return err
		}
		if pause > 0 {
			Pause(ctx, pause)
		}
	}
}

// Definite reports whether the error of a call proves that the call has changed nothing, and that
// the same call would fail again.
func Definite(err error) bool {
	for _, is := range []error{lifecycle.ErrSettled, lifecycle.ErrNotWaiting, lifecycle.ErrKeyConflict,
		lifecycle.ErrInvalidReply, lifecycle.ErrInvalidArgument, lifecycle.ErrNotFound, lifecycle.ErrTerminal} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// Submit submits a run as soon as there is a pool, which the first host makes.
func Submit(ctx context.Context, c *lifecycle.Client, spec lifecycle.Spec) error {
	return Insist(ctx, 5*time.Millisecond, func(err error) bool { return !errors.Is(err, lifecycle.ErrUnknownPool) },
		func() error {
			_, err := c.Submit(ctx, spec)
			return err
		})
}

// Questions lists the open questions, page by page.
func Questions(ctx context.Context, c *lifecycle.Client) iter.Seq2[lifecycle.InboxQuestion, error] {
	return func(yield func(lifecycle.InboxQuestion, error) bool) {
		for q := (lifecycle.InboxQuery{Limit: store.MaxBatch}); ; {
			page, err := c.Inbox(ctx, q)
			if err != nil {
				yield(lifecycle.InboxQuestion{}, err)
				return
			}
			for _, open := range page.Questions {
				if !yield(open, nil) {
					return
				}
			}
			if q.After = page.Next; q.After == "" {
				return
			}
		}
	}
}

// AnswerAll answers the open questions with the texts that answer returns, and returns how many it
// has answered.
func AnswerAll(ctx context.Context, c *lifecycle.Client, answer func(lifecycle.InboxQuestion) string) (n int, _ error) {
	for open, err := range Questions(ctx, c) {
		if err != nil {
			return n, err
		}
		r := lifecycle.Reply{ID: open.Question.ID, Text: answer(open)}
		if _, err := c.Reply(ctx, open.RunID, r); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Ended reports whether all these runs have ended.
func Ended(ctx context.Context, c *lifecycle.Client, runs ...string) (bool, error) {
	for _, id := range runs {
		run, err := c.Get(ctx, id)
		if err != nil || !run.State.Terminal() {
			return false, err
		}
	}
	return true, nil
}
