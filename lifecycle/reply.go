package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// Reply answers the question that the run waits with. Exactly one of all replies, deadlines and
// cancels wins (C8). With a Key it is idempotent: the same key and body returns the first receipt,
// whatever state the run is in by then (C5).
//
// Errors, with nothing written: ErrInvalidReply, ErrNotFound, ErrNotWaiting (a *WaitError: no such
// question, or not yet), ErrSettled (a *SettledError: somebody was first), ErrKeyConflict. After
// any other error, of the context too, the reply may or may not have been accepted: call again with
// the same Key.
func (c *Client) Reply(ctx context.Context, id string, reply interaction.Reply) (interaction.Receipt, error) {
	if err := reply.Validate(); err != nil {
		return interaction.Receipt{}, err
	}
	digest := reply.Digest()
	for {
		found, err := lookup(ctx, c.store, id, reply, digest)
		if err == nil && found.settled {
			// What was read may not be durable yet, and a caller that learns that its reply, or
			// another one, was accepted will not retry (J8).
			err = c.store.Confirm(ctx, func(r store.Reader) (err error) {
				found, err = lookup(ctx, r, id, reply, digest)
				return err
			})
		}
		if err != nil {
			return interaction.Receipt{}, fmt.Errorf("lifecycle: reply to run %s: %w", id, err)
		}
		if !found.pending {
			return found.receipt, found.refusal
		}
		receipt, err := c.settleReply(ctx, found.run, reply, digest)
		if !errors.Is(err, store.ErrConflict) {
			return receipt, err
		}
	}
}

// finding is what the store says about a reply: the question that it answers is pending, or the
// receipt or refusal that it gets.
type finding struct {
	run     Run
	pending bool // the run waits with the question
	settled bool // the question was settled before, by this reply or otherwise
	receipt interaction.Receipt
	refusal error
}

// lookup finds out about the reply. The error says that the store could not be read.
func lookup(ctx context.Context, r store.Reader, id string, reply interaction.Reply, digest string) (f finding,
	err error) {
	if f.run, err = r.Run(ctx, id); err != nil {
		return f, err
	}
	f.pending = f.run.State == fsm.StateWaitingUser && f.run.Pending.ID == reply.ID
	if reply.Key != "" && (!f.pending || f.run.Interactions > 1) { // the first question can have no earlier reply
		record, err := r.Settled(ctx, id, reply.Key)
		if err == nil {
			f.pending, f.settled = false, true
			f.receipt, f.refusal = replayedReceipt(id, record, digest)
			return f, nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return f, err
		}
	}
	if f.pending {
		return f, nil
	}
	return f, f.refuse(ctx, r, reply.ID)
}

// settleReply settles the pending question with the reply. store.ErrConflict means that somebody
// else has changed the run since it was read: another reply, a deadline or a cancel.
func (c *Client) settleReply(ctx context.Context, run Run, reply interaction.Reply, digest string) (interaction.Receipt,
	error) {
	cm, err := decideReply(&run, reply, digest, commitTime(c.clock))
	if err != nil {
		return interaction.Receipt{}, err
	}
	if err := c.commit(ctx, cm); err != nil {
		return interaction.Receipt{}, fmt.Errorf("lifecycle: reply to run %s: %w", run.ID, err)
	}
	return interaction.Receipt{RunID: run.ID, ID: reply.ID, Key: reply.Key, AcceptedAt: cm.Settled.ResolvedAt}, nil
}

// replayedReceipt is the receipt of the accepted reply with the same key, whose body must be the
// same.
func replayedReceipt(id string, record interaction.Record, digest string) (interaction.Receipt, error) {
	if record.Digest != digest {
		return interaction.Receipt{}, fmt.Errorf("%w: key %q settled interaction %d of run %s", ErrKeyConflict,
			record.Key, record.Question.ID, id)
	}
	return interaction.Receipt{RunID: id, ID: record.Question.ID, Key: record.Key, AcceptedAt: record.ResolvedAt,
		Replayed: true}, nil
}

// refuse finds out why the run takes no reply to the interaction: it was settled, by the deadline
// for example, or it was never asked. The error says that the store could not be read.
func (f *finding) refuse(ctx context.Context, r store.Reader, interactionID int) error {
	run := &f.run
	wrong := &WaitError{RunID: run.ID, ID: interactionID, State: run.State, Asked: run.Interactions}
	if run.Pending != nil {
		wrong.Pending = run.Pending.ID
	}
	f.refusal = wrong
	if interactionID > run.Interactions {
		return nil
	}
	record, err := settledInteraction(ctx, r, run.ID, interactionID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil {
		f.settled = true
		f.refusal = &SettledError{RunID: run.ID, ID: interactionID, Resolution: record.Resolution, State: run.State}
	}
	return err
}

// settledInteraction reads one settled interaction of a run. A store that is no
// store.InteractionReader reads the whole history for it.
func settledInteraction(ctx context.Context, r store.Reader, id string, number int) (interaction.Record, error) {
	if s, ok := r.(store.InteractionReader); ok {
		return s.Interaction(ctx, id, number)
	}
	_, records, err := r.History(ctx, id)
	if err != nil {
		return interaction.Record{}, err
	}
	for _, r := range records {
		if r.Question.ID == number {
			return r, nil
		}
	}
	return interaction.Record{}, store.ErrNotFound
}
