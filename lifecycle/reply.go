package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// Reply answers the run's open question, or one of several: the run continues when their rule is
// met. A reply to an approval by several people is a vote: the question stays open until enough
// people have approved or rejected it. Of all replies, deadlines and cancels, exactly one wins; a
// reply after the deadline wins if the deadline has not settled the question yet. With a Key it is
// idempotent: the same key and body returns the first receipt, whatever the run's state. If the
// question has an audience, only the receipt's author (Actor.Is) and the host get it; another actor
// gets ErrSettled.
//
// Errors, with nothing written: ErrInvalidReply (a *ValueError if the question's schema rejects the
// value), ErrQuestionChanged, ErrNotFound, ErrNotAllowed, ErrNotAsked, ErrNotDeputy, ErrClaimed,
// ErrVoted, ErrNotWaiting, ErrSettled, ErrKeyConflict. After any other error, including one of the
// context, call again with the same Key: the reply may have been accepted.
func (c *Client) Reply(ctx context.Context, id string, reply Reply) (Receipt, error) {
	if err := c.checkRun(ctx, id); err != nil {
		return Receipt{}, err
	}
	actor, err := c.resolveActor("reply.Actor", reply.Actor)
	if err != nil {
		return Receipt{}, err
	}
	reply.Actor = withFoldedPrincipal(actor)
	if err := validateReply(&reply); err != nil {
		return Receipt{}, err
	}
	var run Run
	if receipt, done, err := c.replyToRecent(ctx, id, reply, &run); done {
		return receipt, err
	}
	var receipt Receipt
	cmd := node.Command{Verb: "reply to", Run: id}
	err = c.proc.CarryOut(ctx, cmd, func() (*store.Commit, error) {
		status, err := c.readReplyStatus(ctx, id, reply, &run)
		if err != nil {
			return nil, cmd.Failed(err)
		}
		if status.open {
			if err := c.deputies.check(ctx, &reply.Actor, c.proc.Now()); err != nil {
				return nil, cmd.Failed(err)
			}
		}
		err = c.allowActor(ctx, reply.Actor, ActionReply, &run, status.question)
		if err == nil && reply.Remember != nil {
			err = c.allowActor(ctx, reply.Actor, ActionRemember, &run, status.question)
		}
		if err != nil {
			return nil, err
		}
		if !status.open {
			receipt = status.receipt
			return nil, status.refusal
		}
		if err := c.limitMemory(&reply); err != nil { // after the check for a repeated reply
			return nil, err
		}
		cm, err := decide.Reply(&run, reply, c.proc.Now())
		if err != nil {
			return nil, cmd.Failed(err)
		}
		receipt = receiptFor(cm, &reply)
		return cm, nil
	})
	if err != nil {
		return Receipt{}, err
	}
	return receipt, nil
}

// replyToRecent accepts the reply on a store.RecentReader's in-memory record of the run, which saves
// a read. The record may be stale, but the commit compares its version. If done is false, nothing was
// written, and a read must decide.
func (c *Client) replyToRecent(ctx context.Context, id string, reply Reply, run *Run) (_ Receipt, done bool, _ error) {
	recent, ok := c.proc.Store.(store.RecentReader)
	if !ok {
		return Receipt{}, false, nil
	}
	// Votes require a lookup of their keys, deputies a lookup of their principal, and Remember an
	// additional authorization.
	if *run, ok = recent.Recent(id); !ok || run.Votes > 0 || reply.Actor.For != "" || reply.Remember != nil {
		return Receipt{}, false, nil
	}
	question := run.OpenQuestion(reply.ID)
	if question == nil || c.allowActor(ctx, reply.Actor, ActionReply, run, question) != nil {
		return Receipt{}, false, nil
	}
	cm, err := decide.Reply(run, reply, c.proc.Now())
	if err != nil {
		return Receipt{}, false, nil
	}
	defer decide.Recycle(cm)
	switch err := c.proc.Commit(ctx, cm); {
	case err == nil:
		return receiptFor(cm, &reply), true, nil
	case errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrInvalid):
		return Receipt{}, false, nil // the run has changed, or the key was used
	default:
		return Receipt{}, true, node.Command{Verb: "reply to", Run: id}.Failed(err)
	}
}

// replyStatus is the stored status of a reply to a question: the question is open; or the reply is a
// duplicate, which gets the receipt; or it is refused.
type replyStatus struct {
	// question is the open question, or the settled question with the reply's key or number; nil
	// if it was never asked.
	question *Question
	open     bool
	receipt  Receipt // of the accepted reply with the same key and body
	refusal  error
	// final: the caller will not retry, so the receipt or refusal must be durable.
	final bool
}

// readReplyStatus reads the run into run, and the status of a reply to it. It reads a final status
// again through Confirm, since the first read may show a commit that is not durable.
func (c *Client) readReplyStatus(ctx context.Context, id string, reply Reply, run *Run) (replyStatus, error) {
	status, err := replyStatusIn(ctx, c.proc.Store, id, reply, run)
	if err == nil && status.final {
		return c.confirmReplyStatus(ctx, id, reply, run)
	}
	return status, err
}

// confirmReplyStatus is a separate function because Confirm's results escape to the heap.
func (c *Client) confirmReplyStatus(ctx context.Context, id string, reply Reply, run *Run) (replyStatus, error) {
	var confirmed struct {
		run    Run
		status replyStatus
	}
	err := c.proc.Store.Confirm(ctx, func(r store.Reader) (err error) {
		confirmed.status, err = replyStatusIn(ctx, r, id, reply, &confirmed.run)
		return err
	})
	*run = confirmed.run
	return confirmed.status, err
}

// replyStatusIn looks for an earlier reply with the key, an earlier vote, and the question, in this
// order. It returns an error only if the store cannot be read.
func replyStatusIn(ctx context.Context, r store.Reader, id string, reply Reply, run *Run) (_ replyStatus, err error) {
	if *run, err = r.Run(ctx, id); err != nil {
		return replyStatus{}, err
	}
	question := run.OpenQuestion(reply.ID)
	// While a run waits with its first question, no key was used yet.
	if reply.Key != "" && (question == nil || run.Interactions > 1) {
		record, err := r.Settled(ctx, id, reply.Key)
		if err == nil {
			receipt, refusal := replayedReceipt(id, record, reply)
			if refusal == nil && withholdsReceipt(&record, reply.Actor) {
				receipt, refusal = Receipt{}, &SettledError{RunID: id, ID: record.Question.ID,
					Resolution: record.Resolution, State: run.State}
			}
			return replyStatus{question: &record.Question, receipt: receipt, refusal: refusal, final: true}, nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return replyStatus{}, err
		}
	}
	if status, voted, err := readVote(ctx, r, run, reply); voted || err != nil {
		return status, err
	}
	if question != nil {
		return replyStatus{question: question, open: true}, nil
	}
	return refusedReply(ctx, r, run, reply.ID)
}

func receiptFor(cm *store.Commit, reply *Reply) Receipt {
	return Receipt{RunID: cm.Run.ID, ID: reply.ID, Key: reply.Key, AcceptedAt: cm.Run.UpdatedAt}
}

// replayedReceipt returns the receipt of the accepted reply with this key, or ErrKeyConflict if its
// body was another one.
func replayedReceipt(id string, accepted Record, reply Reply) (Receipt, error) {
	if reply.Actor.Is(accepted.Actor) {
		reply.Actor.ID = accepted.Actor // as in a vote's digest
	}
	if principal := accepted.For(); reply.Actor.ActsFor(principal) {
		reply.Actor.For = principal
	}
	if accepted.Digest != reply.DigestFor(&accepted.Question) {
		return Receipt{}, fmt.Errorf("%w: key %q settled interaction %d of run %s", ErrKeyConflict,
			accepted.Key, accepted.Question.ID, id)
	}
	return Receipt{RunID: id, ID: accepted.Question.ID, Key: accepted.Key,
		AcceptedAt: accepted.ResolvedAt, Replayed: true}, nil
}

// withholdsReceipt reports whether the actor may not get an accepted reply's receipt: if the question
// has an audience, only the reply's author and the host may.
func withholdsReceipt(accepted *Record, actor Actor) bool {
	return accepted.Question.To != nil && !actor.IsZero() && !actor.Is(accepted.Actor)
}

// refusedReply is the status of a reply to a question that is not open: SettledError, or WaitError
// if it was never asked.
func refusedReply(ctx context.Context, r store.Reader, run *Run, interactionID int) (replyStatus, error) {
	notWaiting := &WaitError{RunID: run.ID, ID: interactionID, State: run.State, Asked: run.Interactions,
		Failure: run.Error}
	if len(run.Open) > 0 {
		notWaiting.Pending = run.Open[0].ID
	}
	neverAsked := replyStatus{refusal: notWaiting}
	if interactionID > run.Interactions {
		return neverAsked, nil
	}
	record, err := r.Interaction(ctx, run.ID, interactionID)
	if errors.Is(err, store.ErrNotFound) {
		return neverAsked, lostRecord(ctx, r, run.ID, interactionID)
	}
	if err != nil {
		return replyStatus{}, err
	}
	return replyStatus{question: &record.Question, final: true, refusal: &SettledError{
		RunID: run.ID, ID: interactionID, Resolution: record.Resolution, State: run.State,
	}}, nil
}

// lostRecord returns an error if the run has asked the question, which is neither open nor recorded.
// The run may have been pruned, or its id reused, since it was read.
func lostRecord(ctx context.Context, r store.Reader, id string, number int) error {
	q := store.HistoryQuery{After: number - 1, Limit: 1}
	run, page, err := r.History(ctx, id, q)
	if err != nil {
		return err
	}
	return store.CheckHistory(ctx, r, &run, q, page)
}
