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
// people have approved or rejected it. Exactly one of all replies to a question, deadlines and
// cancels wins; a reply after the deadline wins if the deadline has not settled the question yet.
// With a Key it is idempotent: the same key and body returns the first receipt, whatever the run's
// state. If the question has an audience, only the receipt's author (Actor.Is) and the host get it;
// another actor gets ErrSettled.
//
// Errors, with nothing written: ErrInvalidReply (a *ValueError if the question's schema rejects the
// value), ErrQuestionChanged (a *ChangedError with the current question: the author saw another
// one), ErrNotFound, ErrNotAllowed, ErrNotAsked (a *NotAskedError: the author is not in the
// audience), ErrNotDeputy (a *NotDeputyError: the author may not act for Actor.For now), ErrClaimed
// (a *ClaimedError: by another person), ErrVoted (a *VotedError: the author has voted),
// ErrNotWaiting (a *WaitError: no such question, or not yet), ErrSettled (a *SettledError: it was
// already settled), ErrKeyConflict. After any other error, including one of the context, the reply
// may or may not have been accepted: call again with the same Key.
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
		status, err := c.replyStatus(ctx, id, reply, &run)
		if err != nil {
			return nil, cmd.Failed(err)
		}
		if status.pending {
			if err := c.deputies.check(ctx, &reply.Actor, c.proc.Now()); err != nil {
				return nil, cmd.Failed(err)
			}
		}
		if err := c.allowActor(ctx, reply.Actor, ActionReply, &run, status.question); err != nil {
			return nil, err
		}
		if !status.pending {
			receipt = status.receipt
			return nil, status.refusal
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

// replyToRecent accepts the reply on a store.RecentReader's in-memory record, which saves the read
// of the run. The commit compares the version, so it accepts no more than after a read. done is
// false, with nothing written, unless the record, which may be stale, shows that the reply will be
// accepted.
func (c *Client) replyToRecent(ctx context.Context, id string, reply Reply, run *Run) (_ Receipt, done bool, _ error) {
	recent, ok := c.proc.Store.(store.RecentReader)
	if !ok {
		return Receipt{}, false, nil
	}
	// The keys of votes must be looked up, and so must a deputy's principal.
	if *run, ok = recent.Recent(id); !ok || run.Votes > 0 || reply.Actor.For != "" {
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
		return Receipt{}, false, nil // the run has changed, or the key was used: a read decides
	default:
		return Receipt{}, true, node.Command{Verb: "reply to", Run: id}.Failed(err)
	}
}

// replyStatus is the stored status of a reply. If pending is set, the run waits with the question.
// Otherwise the reply is a duplicate or is refused: Reply returns receipt or refusal.
type replyStatus struct {
	// question is the open question, or the settled one with the reply's key or number; nil if it
	// was never asked.
	question *Question
	pending  bool
	receipt  Receipt // of the accepted reply with the same key and body
	refusal  error
	// settled: the receipt or refusal reports how the question was settled. The caller will not
	// retry, so the result must be durable.
	settled bool
}

// replyStatus reads the run, and the status of a reply to it. It reads a settlement again through
// Confirm, since the first read may show a commit that is not durable.
func (c *Client) replyStatus(ctx context.Context, id string, reply Reply, run *Run) (replyStatus, error) {
	status, err := readReplyStatus(ctx, c.proc.Store, id, reply, run)
	if err == nil && status.settled {
		return c.confirmedReplyStatus(ctx, id, reply, run)
	}
	return status, err
}

// confirmedReplyStatus is a separate function because Confirm's results escape to the heap.
func (c *Client) confirmedReplyStatus(ctx context.Context, id string, reply Reply, run *Run) (replyStatus, error) {
	var confirmed struct {
		run    Run
		status replyStatus
	}
	err := c.proc.Store.Confirm(ctx, func(r store.Reader) (err error) {
		confirmed.status, err = readReplyStatus(ctx, r, id, reply, &confirmed.run)
		return err
	})
	*run = confirmed.run
	return confirmed.status, err
}

// readReplyStatus reads the run, and the settled question that the reply refers to by its key, or
// else by its number. It returns an error if the store cannot be read; the status has the error to
// return to the caller.
func readReplyStatus(ctx context.Context, r store.Reader, id string, reply Reply, run *Run) (_ replyStatus, err error) {
	if *run, err = r.Run(ctx, id); err != nil {
		return replyStatus{}, err
	}
	question := run.OpenQuestion(reply.ID)
	pending := question != nil
	// While a run waits with its first question, no key was used yet.
	if reply.Key != "" && (!pending || run.Interactions > 1) {
		record, err := r.Settled(ctx, id, reply.Key)
		if err == nil {
			receipt, refusal := replayedReceipt(id, record, reply)
			if refusal == nil && withholdsReceipt(&record, reply.Actor) {
				receipt, refusal = Receipt{}, &SettledError{RunID: id, ID: record.Question.ID,
					Resolution: record.Resolution, State: run.State}
			}
			return replyStatus{question: &record.Question, receipt: receipt, refusal: refusal, settled: true}, nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return replyStatus{}, err
		}
	}
	if status, voted, err := readVote(ctx, r, run, reply); voted || err != nil {
		return status, err
	}
	if pending {
		return replyStatus{question: question, pending: true}, nil
	}
	return refusedReply(ctx, r, run, reply.ID)
}

func receiptFor(cm *store.Commit, reply *Reply) Receipt {
	return Receipt{RunID: cm.Run.ID, ID: reply.ID, Key: reply.Key, AcceptedAt: cm.Run.UpdatedAt}
}

// replayedReceipt returns the receipt of the accepted reply with this key, or ErrKeyConflict if
// that reply had another body.
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

// withholdsReceipt reports whether the actor may not get an accepted reply's receipt. If the
// question has an audience, only the reply's author and the host may, even if another actor sends
// the same text under the same key.
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
	return replyStatus{question: &record.Question, settled: true, refusal: &SettledError{
		RunID: run.ID, ID: interactionID, Resolution: record.Resolution, State: run.State,
	}}, nil
}

// lostRecord returns an error if the run says that it has asked the question, which is neither open
// nor recorded. The run may have been pruned, or its id reused, since it was read.
func lostRecord(ctx context.Context, r store.Reader, id string, number int) error {
	q := store.HistoryQuery{After: number - 1, Limit: 1}
	run, page, err := r.History(ctx, id, q)
	if err != nil {
		return err
	}
	return store.CheckHistory(ctx, r, &run, q, page)
}
