package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// Claim reserves an open question for the client's actor (Client.As): no other person can answer or
// claim it before until. Repeating it changes the time. It delays no step or end of the question's
// wait; an escalation ends it.
//
// Errors, with nothing written: ErrNotFound, ErrNotAllowed, ErrNotAsked, ErrNotDeputy, ErrClaimed,
// ErrNotWaiting, ErrSettled, ErrTooMany (MaxChanges), and an *ArgumentError: the actor has no ID,
// several people decide the question, or until is not after now and at most interaction.MaxClaim
// later. After any other error call again: the question may be claimed.
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
	return c.changeOpenQuestion(ctx, id, question, questionChange{
		action: ActionClaim,
		change: func(run *Run, q *Question, by Actor, now time.Time) (*store.Commit, error) {
			return decide.Claim(run, q, by, until, now)
		},
	})
}

// Release releases the client's actor's claim of a question; without a claim it does nothing. Only
// the zero Actor, and actors whom Authorize allows ActionOverrule, can release another person's.
//
// Errors, with nothing written: ErrNotFound, ErrNotAllowed, ErrNotDeputy, ErrClaimed, ErrNotWaiting,
// ErrSettled. After any other error call again.
func (c *Client) Release(ctx context.Context, id string, question int) error {
	if err := c.checkQuestionCall(ctx, id, question); err != nil {
		return err
	}
	return c.changeOpenQuestion(ctx, id, question, questionChange{
		action: ActionRelease,
		right:  (*Question).CheckClaim,
		change: func(run *Run, q *Question, by Actor, now time.Time) (*store.Commit, error) {
			if !q.Claim.Lasts(now) {
				return nil, c.confirmReleased(ctx, id, question, now)
			}
			return decide.Release(run, q, by, now)
		},
	})
}

// Reassign replaces the audience of an open question, and ends a claim. from is the audience that
// the caller saw (Question.To); if it has changed, the call is refused. Excepted users stay
// excepted, and votes stay. Allowed for the current audience, unless another person has claimed the
// question, for the zero Actor, and for actors whom Authorize allows ActionOverrule.
//
// Errors, with nothing written: ErrNotFound, ErrNotAllowed, ErrNotAsked, ErrNotDeputy, ErrClaimed,
// ErrReassigned, ErrNotWaiting, ErrSettled, ErrTooMany (MaxChanges), and an *ArgumentError: to admits
// no one, or fewer people than must decide, or has names that cannot be stored. After any other
// error read the question: it may be reassigned.
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
	return c.changeOpenQuestion(ctx, id, question, questionChange{
		action: ActionReassign,
		right: func(q *Question, by Actor, now time.Time) error {
			if !q.To.Admits(by) {
				return &NotAskedError{ID: question, Actor: by, To: *q.To.Clone()}
			}
			return q.CheckClaim(by, now)
		},
		change: func(run *Run, q *Question, by Actor, now time.Time) (*store.Commit, error) {
			return decide.Reassign(run, q, by, from, to, now)
		},
	})
}

// NoteReceipt confirms a note.
type NoteReceipt struct {
	Number  int // of the note, from 1 for each question
	NotedAt time.Time
	// Replayed: a note with the same Key and text was accepted before, and this call changed nothing.
	Replayed bool
}

// Note adds a note to an open question, without deciding it: of the note, the caller sets Text and
// Key. Notes stay with the question, also when it is reassigned and after it is settled; a fork does
// not inherit them. With a Key the call is idempotent, even after the question was settled. Allowed
// for the current audience, for the zero Actor, and for actors whom Authorize allows ActionNote.
//
// Errors, with nothing written: ErrNotFound, ErrNotAllowed, ErrNotAsked, ErrNotDeputy, ErrNotWaiting,
// ErrSettled, ErrKeyConflict, ErrTooMany (interaction.MaxNotes, MaxNotesTogether), and an
// *ArgumentError for an invalid Text or Key. After any other error call again with the same Key.
func (c *Client) Note(ctx context.Context, id string, question int, note Note) (NoteReceipt, error) {
	if err := c.checkQuestionCall(ctx, id, question); err != nil {
		return NoteReceipt{}, err
	}
	var fault *FieldError
	if err := interaction.ValidateNote(note.Text, note.Key); errors.As(err, &fault) {
		return NoteReceipt{}, &ArgumentError{"note." + fault.Field, fault.Value, fault.Want, nil}
	}
	var receipt NoteReceipt
	err := c.changeOpenQuestion(ctx, id, question, questionChange{
		action: ActionNote,
		reader: true,
		right: func(q *Question, by Actor, _ time.Time) error {
			if !q.To.Admits(by) {
				return &NotAskedError{ID: question, Actor: by, To: *q.To.Clone()}
			}
			return nil
		},
		repeated: func(q *Question, by Actor) (bool, error) {
			earlier := q.Notes.Keyed(note.Key)
			if earlier == nil {
				return false, nil
			}
			if earlier.Text != note.Text || !earlier.By(by) {
				return true, fmt.Errorf("%w: key %q is the key of another note on question %d of run %s",
					ErrKeyConflict, note.Key, question, id)
			}
			number := 1 + slices.IndexFunc(q.Notes.List, func(n Note) bool { return n.Key == note.Key })
			receipt = NoteReceipt{Number: number, NotedAt: earlier.NotedAt, Replayed: true}
			return true, nil
		},
		change: func(run *Run, q *Question, by Actor, now time.Time) (*store.Commit, error) {
			receipt = NoteReceipt{Number: len(q.Notes.All()) + 1, NotedAt: now}
			return decide.Note(run, q, by, note.Text, note.Key, now)
		},
	})
	if err != nil {
		return NoteReceipt{}, err
	}
	return receipt, nil
}

// questionChange is a command that changes an open question. Its functions get the question as just
// read, and the actor with a deputy's principal.
type questionChange struct {
	action Action
	// right says why the actor has no right to the change, unless nil; see actionOrOverrule.
	right func(q *Question, by Actor, now time.Time) (refusal error)
	// reader: an actor without the right may do it if Authorize allows the action itself.
	reader bool
	// repeated reports whether the change was made before, and why it is refused then; nil: it is
	// made each time.
	repeated func(q *Question, by Actor) (bool, error)
	// change returns the commit, or nil if nothing changes.
	change func(run *Run, q *Question, by Actor, now time.Time) (*store.Commit, error)
}

// actionOrOverrule returns the action for Authorize, or an error without the right to it. A refusal
// can be overruled by the host itself, and by actors whom Authorize allows ActionOverrule.
func (c *Client) actionOrOverrule(action Action, refusal error) (Action, error) {
	switch {
	case refusal == nil:
		return action, nil
	case c.authorize == nil && !c.actor.IsZero():
		return action, refusal
	}
	return ActionOverrule, nil
}

// changeOpenQuestion carries out a change, if the question is open and the actor may change it.
func (c *Client) changeOpenQuestion(ctx context.Context, id string, question int, command questionChange) error {
	action := command.action
	cmd := node.Command{Verb: string(action), Run: id, Question: question}
	return c.proc.CarryOut(ctx, cmd, func() (*store.Commit, error) {
		run, status, err := c.readOpenQuestion(ctx, id, question)
		if err != nil {
			return nil, cmd.Failed(err)
		}
		q := status.question
		if !status.open {
			refusal := status.refusal
			if command.repeated != nil && q != nil {
				if known, err := command.repeated(q, c.actor); known {
					refusal = err
				}
			}
			return nil, cmp.Or(c.allow(ctx, action, run, q), refusal)
		}
		by := c.actor
		now := decide.Later(c.proc.Now(), run.UpdatedAt)
		if err := c.deputies.check(ctx, &by, now); err != nil {
			return nil, cmd.Failed(err)
		}
		asked, denied := action, error(nil)
		if command.right != nil {
			asked, denied = c.actionOrOverrule(action, command.right(q, by, now))
			if command.reader {
				asked = action
			}
		}
		if err := c.allowActor(ctx, by, asked, run, q); err != nil {
			return nil, err
		}
		known, conflict := false, error(nil)
		if command.repeated != nil {
			if known, conflict = command.repeated(q, by); known && conflict == nil {
				return nil, c.confirmNotes(ctx, id, q)
			}
		}
		if denied != nil {
			return nil, cmd.Failed(denied)
		}
		if known {
			return nil, conflict
		}
		cm, err := command.change(run, q, by, now)
		// A claim can always be released, and notes have their own limit.
		if err == nil && cm != nil && action != ActionRelease && action != ActionNote {
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

// MaxChanges limits consecutive changes of open questions by people, as a run's last events:
// claims, releases, Reassign and Extend. More fail with ErrTooMany until the run has another event,
// such as a reply or a step of a wait. Releases and the host itself have no limit.
const MaxChanges = 500

// checkChanges enforces MaxChanges. It usually reads only the event MaxChanges events ago.
func (c *Client) checkChanges(ctx context.Context, run *Run) error {
	if c.actor.IsZero() || run.Seq < MaxChanges {
		return nil
	}
	for after, limit := run.Seq-MaxChanges, 1; after < run.Seq; limit = MaxChanges {
		page, err := c.proc.Store.Events(ctx, run.ID, after, limit)
		if err == nil {
			err = store.CheckEvents(run.ID, after, page, run.Seq)
		}
		if err != nil {
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

// confirmNotes makes the question's notes durable. It returns node.ErrReadAgain if the question has
// changed.
func (c *Client) confirmNotes(ctx context.Context, id string, question *Question) error {
	return c.proc.Store.Confirm(ctx, func(r store.Reader) error {
		run, err := r.Run(ctx, id)
		if err != nil {
			return err
		}
		if q := run.OpenQuestion(question.ID); q == nil || len(q.Notes.All()) < len(question.Notes.All()) {
			return node.ErrReadAgain
		}
		return nil
	})
}

// confirmReleased makes the absence of a claim durable. It returns node.ErrReadAgain if the
// question is claimed.
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
