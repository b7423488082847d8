package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// This file is about who works on an open question (K5): one person claims it for a time or gives
// it back, and others are asked in place of those who were. Each is one commit with the event
// interaction.changed, and races with replies, deadlines and other changes: one of them wins.

// Claim gives an open question to the client's actor (Client.As) alone: nobody else can answer or
// claim it before until. Claiming it again changes the time. A claim does not delay the steps and
// the end of the question's wait, and an escalation ends the claim. A claim that has expired has no
// effect.
//
// Errors, with nothing written: ErrNotFound, ErrNotAllowed, ErrNotAsked (a *NotAskedError),
// ErrClaimed (a *ClaimedError: who has it, and until when), ErrNotWaiting (a *WaitError: no such
// question), ErrSettled (a *SettledError), ErrTooMany (MaxChanges), and an *ArgumentError in three
// cases: the actor has no ID, several people decide the question, or until is not after now and at
// most interaction.MaxClaim later. After any other error the question may or may not be claimed:
// call again.
func (c *Client) Claim(ctx context.Context, id string, question int, until time.Time) error {
	if err := c.checkQuestionCall(ctx, id, question); err != nil {
		return err
	}
	if err := validateTime("until", until); err != nil {
		return err
	}
	if c.actor.ID == "" {
		return &ArgumentError{"actor", quote(""), "an ID: call Claim of Client.As", nil}
	}
	until = until.UTC().Truncate(time.Microsecond)
	return c.changeOpenQuestion(ctx, ActionClaim, id, question, func(*Question, time.Time) (Action, error) {
		return ActionClaim, nil
	}, func(run *Run, q *Question, now time.Time) (*store.Commit, error) {
		return decide.Claim(run, q, c.actor, until, now)
	})
}

// Release gives back a question that the client's actor has claimed. Without a claim that lasts it
// does nothing. The claim of somebody else is only released by the host itself (the zero Actor),
// and by those whom Authorize allows ActionOverrule.
//
// Errors, with nothing written: ErrNotFound, ErrNotAllowed, ErrClaimed (a *ClaimedError: somebody
// else has it), ErrNotWaiting (a *WaitError: no such question), ErrSettled (a *SettledError). After
// any other error the question may or may not be released: call again.
func (c *Client) Release(ctx context.Context, id string, question int) error {
	if err := c.checkQuestionCall(ctx, id, question); err != nil {
		return err
	}
	return c.changeOpenQuestion(ctx, ActionRelease, id, question, func(q *Question, now time.Time) (Action, error) {
		return c.actionOrOverrule(ActionRelease, q.CheckClaim(c.actor, now))
	}, func(run *Run, q *Question, now time.Time) (*store.Commit, error) {
		if !q.Claim.Lasts(now) {
			return nil, c.confirmReleased(ctx, id, question, now)
		}
		return decide.Release(run, q, c.actor, now)
	})
}

// Reassign puts an open question to others, in place of those who were asked, and ends a claim.
// From is who was asked when the caller looked, Question.To: if others are asked by now, the call
// is refused. Whoever was excepted stays excepted, and votes that were given stay. Who is asked may
// do so, unless somebody else has claimed the question; besides them the host itself (the zero
// Actor), and those whom Authorize allows ActionOverrule.
//
// Errors, with nothing written: ErrNotFound, ErrNotAllowed, ErrNotAsked (a *NotAskedError),
// ErrClaimed (a *ClaimedError: who has it, and until when), ErrReassigned (a *ReassignedError: who
// is asked now), ErrNotWaiting (a *WaitError: no such question), ErrSettled (a *SettledError),
// ErrTooMany (MaxChanges), an *ArgumentError (to is for nobody, for fewer people than must decide,
// or has names that cannot be stored). After any other error others may or may not be asked: read
// the question.
func (c *Client) Reassign(ctx context.Context, id string, question int, from *Audience, to Audience) error {
	if err := c.checkQuestionCall(ctx, id, question); err != nil {
		return err
	}
	to = *to.Folded(c.actor.Fold)
	if err := to.Validate(); err != nil {
		return &ArgumentError{"to", "an audience with " + err.Error(), "names that actors can have", nil}
	}
	if !interaction.Enough(1, &to) {
		return &ArgumentError{"to", decide.ForNobody, decide.WantSomebody, nil}
	}
	return c.changeOpenQuestion(ctx, ActionReassign, id, question, func(q *Question, now time.Time) (Action, error) {
		if !q.To.Admits(c.actor) {
			return c.actionOrOverrule(ActionReassign, &NotAskedError{ID: question, Actor: c.actor, To: *q.To.Clone()})
		}
		return c.actionOrOverrule(ActionReassign, q.CheckClaim(c.actor, now))
	}, func(run *Run, q *Question, now time.Time) (*store.Commit, error) {
		return decide.Reassign(run, q, c.actor, from, to, now)
	})
}

// actionOrOverrule returns the action that Authorize is asked about. The refusal says why the actor
// has no right of its own to make the call; nil if it has. An actor without it may be allowed to
// overrule: the host itself, and whomever Authorize allows ActionOverrule. Without an Authorize,
// the refusal stands for everybody but the host.
func (c *Client) actionOrOverrule(action Action, refusal error) (Action, error) {
	switch {
	case refusal == nil:
		return action, nil
	case c.authorize == nil && !c.actor.IsZero():
		return action, refusal
	}
	return ActionOverrule, nil
}

// changeOpenQuestion carries out a command that changes an open question. The right function
// returns the action that Authorize is asked about, and why the actor may not take it; change makes
// the commit, or none if nothing has to change. Both see the question as it was just read.
func (c *Client) changeOpenQuestion(ctx context.Context, action Action, id string, question int,
	right func(q *Question, now time.Time) (Action, error),
	change func(run *Run, q *Question, now time.Time) (*store.Commit, error)) error {
	cmd := node.Command{Verb: string(action), Run: id, Question: question}
	return c.proc.CarryOut(ctx, cmd, func() (*store.Commit, error) {
		run, q, refusal, err := c.openQuestion(ctx, id, question)
		if err != nil {
			return nil, cmd.Failed(err)
		}
		if refusal != nil {
			return nil, cmp.Or(c.allow(ctx, action, run, q), refusal)
		}
		now := decide.Later(c.proc.Now(), run.UpdatedAt)
		asked, denied := right(q, now)
		if err := c.allow(ctx, asked, run, q); err != nil {
			return nil, err
		}
		if denied != nil {
			return nil, cmd.Failed(denied)
		}
		cm, err := change(run, q, now)
		if err == nil && cm != nil && action != ActionRelease { // who could claim the question can also give it back
			err = c.checkChanges(ctx, run)
		}
		if bad := (*decide.BadArgument)(nil); errors.As(err, &bad) {
			err = &ArgumentError{bad.Argument, bad.Value, bad.Want, nil}
		}
		if err != nil {
			return nil, cmd.Failed(err)
		}
		return cm, nil
	})
}

// MaxChanges is how many changes of its open questions may be the last events of a run: claims,
// releases, and calls of Reassign and Extend. Then people can make no further ones (ErrTooMany)
// until a question is answered or a step of a wait is carried out. Replies and releases are always
// possible, and so is everything to the host itself.
const MaxChanges = 500

// checkChanges returns an error if people may not change the open questions of the run any more. It
// reads one event as a rule: that of MaxChanges events ago, if there are so many.
func (c *Client) checkChanges(ctx context.Context, run *Run) error {
	if c.actor.IsZero() || run.Seq < MaxChanges {
		return nil
	}
	for after, limit := run.Seq-MaxChanges, 1; after < run.Seq; limit = MaxChanges {
		page, err := c.proc.Store.Events(ctx, run.ID, after, limit)
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			event, err := fcmp.Decode(page[i].Body)
			if err != nil || event.Type != fcmp.TypeChanged {
				return err
			}
		}
		after = page[len(page)-1].Seq
	}
	return fmt.Errorf("%w changes: the last %d events of the run are changes of its open questions", ErrTooMany,
		MaxChanges)
}

// confirmReleased makes durable that nobody has claimed the question (J8). It is node.ErrReadAgain if
// somebody has.
func (c *Client) confirmReleased(ctx context.Context, id string, question int, now time.Time) error {
	return c.proc.Store.Confirm(ctx, func(r store.Reader) error {
		run, err := r.Run(ctx, id)
		if err != nil {
			return err
		}
		if q := run.OpenQuestion(question); q != nil && q.Claim.Lasts(now) {
			return node.ErrReadAgain
		}
		return nil
	})
}
