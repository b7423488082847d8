package lifecycle

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// limitMemory enforces Config.Remember, and converts the end to the stores' precision.
func (c *Client) limitMemory(reply *Reply) error {
	if reply.Remember == nil {
		return nil
	}
	if c.remember == 0 {
		return badMemory("set", "none, since this host remembers no decisions")
	}
	remember := *reply.Remember
	remember.Until = remember.Until.UTC().Truncate(time.Microsecond)
	if last := c.proc.Now().Add(c.remember); remember.Until.After(last) {
		return badMemory("until "+remember.Until.Format(time.RFC3339), "at most "+c.remember.String())
	}
	reply.Remember = &remember
	return nil
}

func badMemory(value, want string) error {
	return &ArgumentError{"reply.Remember", value, want, &FieldError{Field: "Remember", Value: value, Want: want}}
}

// MaxRemember returns Config.Remember: the maximum time for remembered decisions. 0: not allowed.
func (c *Client) MaxRemember() time.Duration { return c.remember }

// Forget ends the remembered decision (Run.Remembered) about the question with this number. It then
// approves no later call. Any state of the run permits the call. Authorize must allow ActionForget.
//
// Errors, with nothing written: ErrNotFound, also if the run does not remember the decision (any more),
// and ErrNotAllowed. After any other error, call again.
func (c *Client) Forget(ctx context.Context, id string, question int) error {
	if err := c.checkRun(ctx, id); err != nil {
		return err
	}
	if question < 1 {
		return &ArgumentError{"question", strconv.Itoa(question), "the number of a question, from 1", nil}
	}
	cmd := node.Command{Verb: "forget the decision of", Run: id, Question: question}
	return c.proc.CarryOut(ctx, cmd, func() (*store.Commit, error) {
		run, err := c.proc.Store.Run(ctx, id)
		if err != nil {
			return nil, cmd.Failed(err)
		}
		if err := c.allow(ctx, ActionForget, &run, run.FirstOpen()); err != nil {
			return nil, err
		}
		cm, err := decide.Forget(&run, question, c.caller(), c.proc.Now())
		if errors.Is(err, decide.ErrNotRemembered) { // the caller relies on the state, so it must be durable
			if run, err = c.proc.ConfirmedRun(ctx, id); err != nil {
				return nil, cmd.Failed(err)
			}
			cm, err = decide.Forget(&run, question, c.caller(), c.proc.Now())
			if errors.Is(err, decide.ErrNotRemembered) {
				return nil, cmd.Failed(errors.Join(ErrNotFound, err))
			}
		}
		return cm, err
	})
}
