package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// Reply answers the question that the run waits with. Exactly one of all replies, deadlines and cancels wins (C8). With a
// Key it is idempotent: the same key and body returns the first receipt, whatever state the run is in by then (C5).
//
// Errors, with nothing written: ErrInvalidReply, ErrNotFound, ErrNotWaiting (a *WaitError: no such question, or not yet),
// ErrSettled (a *SettledError: somebody was first), ErrKeyConflict. After any other error, of the context too, the
// reply may or may not have been accepted: call again with the same Key.
func (c *Client) Reply(ctx context.Context, id string, reply interaction.Reply) (interaction.Receipt, error) {
	if err := reply.Validate(); err != nil {
		return interaction.Receipt{}, err
	}
	digest := reply.Digest()
	for {
		run, err := c.store.Run(ctx, id)
		if err != nil {
			return interaction.Receipt{}, fmt.Errorf("lifecycle: reply to run %s: %w", id, err)
		}
		pending := run.State == fsm.StateWaitingUser && run.Pending.ID == reply.ID
		if reply.Key != "" && (!pending || run.Interactions > 1) { // the first question can have no earlier reply
			receipt, found, err := c.earlier(ctx, id, reply.Key, digest)
			if found || err != nil {
				return receipt, err
			}
		}
		if !pending {
			return interaction.Receipt{}, c.refusal(ctx, run, reply.ID)
		}
		receipt, err := c.settle(ctx, run, reply, digest)
		if !errors.Is(err, store.ErrConflict) {
			return receipt, err
		}
	}
}

// settle commits an accepted reply.
func (c *Client) settle(ctx context.Context, run Run, reply interaction.Reply, digest string) (interaction.Receipt, error) {
	now := notBefore(stamp(c.clock), run.UpdatedAt)
	answer := reply.Answer(now)
	record := interaction.Settle(*run.Pending, answer, reply.Key, digest)
	cm, err := transition(&run, &change{
		event: fsm.EventInteractionReplyAccepted, facts: fsm.FactPendingMatches, now: now, answer: &answer, settled: &record,
	})
	if err != nil {
		return interaction.Receipt{}, err
	}
	if err := c.commit(ctx, cm); err != nil {
		return interaction.Receipt{}, fmt.Errorf("lifecycle: reply to run %s: %w", run.ID, err)
	}
	return interaction.Receipt{RunID: run.ID, ID: reply.ID, Key: reply.Key, AcceptedAt: record.ResolvedAt}, nil
}

// earlier looks for an accepted reply with the same key.
func (c *Client) earlier(ctx context.Context, id, key, digest string) (_ interaction.Receipt, found bool, _ error) {
	record, err := c.store.Settled(ctx, id, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return interaction.Receipt{}, false, nil
	case err != nil:
		return interaction.Receipt{}, false, fmt.Errorf("lifecycle: reply to run %s: %w", id, err)
	case record.Digest != digest:
		return interaction.Receipt{}, true, fmt.Errorf("%w: key %q settled interaction %d of run %s", ErrKeyConflict, key, record.Question.ID, id)
	}
	return interaction.Receipt{RunID: id, ID: record.Question.ID, Key: key, AcceptedAt: record.ResolvedAt, Replayed: true}, true, nil
}

// refusal says why the run cannot take a reply to the interaction.
func (c *Client) refusal(ctx context.Context, run Run, interactionID int) error {
	wrong := &WaitError{RunID: run.ID, ID: interactionID, State: run.State, Asked: run.Interactions}
	if run.Pending != nil {
		wrong.Pending = run.Pending.ID
	}
	if interactionID > run.Interactions {
		return wrong
	}
	record, err := c.settled(ctx, run.ID, interactionID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return wrong
	case err != nil:
		return fmt.Errorf("lifecycle: reply to run %s: %w", run.ID, err)
	}
	return &SettledError{RunID: run.ID, ID: interactionID, Resolution: record.Resolution, State: run.State}
}

// settled finds one settled interaction of a run, of which there may be many: only a store that cannot do better reads them all.
func (c *Client) settled(ctx context.Context, id string, number int) (interaction.Record, error) {
	if s, ok := c.store.(store.InteractionReader); ok {
		return s.Interaction(ctx, id, number)
	}
	_, records, err := c.store.History(ctx, id)
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
