package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// errTransactionBroken: the transaction did not do what AppendIn asks for.
var errTransactionBroken = errors.New("engine: the host's transaction has not executed the step, or not returned " +
	"why it is rolled back")

// AppendIn implements engine.TransactionalJournal.
//
// From the write of the entries until the outcome of the host's transaction is known, the turn
// commits nothing else: mu is held, but lent to the host, so that a turn with a hung transaction can
// be settled without its worker.
func (s *sink) AppendIn(ctx context.Context, transaction func(write func(
	ctx context.Context, view any, entries ...engine.JournalEntry) error) error) (err error) {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("engine: journal not written: %w", context.Cause(ctx))
	}
	t := (*turn)(s)
	var called bool
	var written *store.Commit
	err = errTransactionBroken // in case transaction panics
	defer func() {
		if written != nil {
			err = errorForEngine(t.endTransaction(err))
		}
	}()
	err = transaction(func(ctx context.Context, view any, entries ...engine.JournalEntry) (err error) {
		if called {
			return errTransactionBroken
		}
		called = true
		written, err = t.writeIn(ctx, view, entries)
		return errorForEngine(err)
	})
	if written == nil && err == nil {
		return errTransactionBroken
	}
	return err
}

// writeIn writes entries in the host's transaction. If it returns the commit, mu is lent until the
// caller calls endTransaction.
func (t *turn) writeIn(ctx context.Context, view any, entries []engine.JournalEntry) (*store.Commit, error) {
	in, ok := view.(store.TransactionView)
	if !ok {
		return nil, engine.Hold(engine.CodeEngineFailed, fmt.Sprintf("a transaction of the host's has a %T, "+
			"which is no view of the run's store", view))
	}
	t.mu.Lock()
	cm, err := t.decideEntriesIn(entries)
	if err != nil {
		t.mu.Unlock()
		return nil, err
	}
	t.inTransaction = cm
	t.mu.Lend()
	written := false
	defer func() { // also if Commit panics
		if !written && t.mu.Reclaim() {
			t.inTransaction = nil
			t.mu.Unlock()
		}
	}()
	err = in.Commit(ctx, []store.Commit{*cm})[0]
	if errors.Is(err, store.ErrConflict) {
		if cm, err = t.decideEntriesAgain(cm, entries); err == nil {
			err = in.Commit(ctx, []store.Commit{*cm})[0]
		}
	}
	switch {
	case err == nil:
		written = true
		return cm, nil
	case errors.Is(err, store.ErrStaleEpoch):
		t.interrupt(engine.ErrStale)
	case errors.Is(err, store.ErrNotFound):
		err = engine.Hold(engine.CodeEngineFailed, "a transaction of the host uses a database that does not have "+
			"the run")
	}
	return nil, err
}

// decideEntriesAgain is decideEntriesIn after a conflict: a person has ended a remembered decision. The
// lock is lent.
func (t *turn) decideEntriesAgain(refused *store.Commit, entries []engine.JournalEntry) (*store.Commit, error) {
	if !t.mu.Reclaim() {
		return refused, errTurnEnded
	}
	defer t.mu.Lend()
	if found, lost := t.findCommitted(&refused.Run); lost != nil || found != commitNotStored {
		return refused, cmp.Or(lost, store.ErrConflict)
	}
	cm, err := t.decideEntriesIn(entries)
	if err != nil {
		return refused, err
	}
	t.inTransaction = cm
	return cm, nil
}

// decideEntriesIn makes the commit for a transaction of the host. The caller holds mu.
func (t *turn) decideEntriesIn(entries []engine.JournalEntry) (*store.Commit, error) {
	if err := t.checkOpen(); err != nil {
		return nil, err
	}
	cm, err := decide.Entries(t.record, entries, t.node.proc.Now())
	if err == nil {
		cm.Fence = &store.Fence{Node: t.node.id, Epoch: t.epoch}
	}
	return cm, err
}

// endTransaction settles a returned transaction of the host. If the turn was settled in the
// meantime, the transaction has no effect.
func (t *turn) endTransaction(returned error) error {
	if !t.mu.Reclaim() {
		return errTurnEnded
	}
	defer t.mu.Unlock()
	cm := t.inTransaction
	t.inTransaction = nil
	return t.settleTransaction(cm, returned)
}

// settleTransaction returns nil if a transaction of the host, which returned this error, has stored
// the commit. The caller holds mu.
//
// A transaction whose connection was lost may still store the commit later. If it failed and its
// commit is not found, settleTransaction commits the same version without a change: only one commit
// of a version can be stored.
func (t *turn) settleTransaction(cm *store.Commit, returned error) error {
	if stored, err := t.node.proc.Store.Run(t.node.live, cm.Run.ID); returned == nil && err == nil &&
		t.isCommitted(&cm.Run, &stored) { // and durable, as the host has learned
		*t.record = stored
		t.node.proc.Notices.Committed(cm)
		return nil
	}
	var superseding *store.Run // its outcome is unknown
	for backoff := firstBackoff; ; backoff = min(2*backoff, t.node.cfg.Poll) {
		found, lost := t.findCommitted(&cm.Run)
		if found == runChanged && lost == nil && superseding != nil {
			found, lost = t.findCommitted(superseding)
			if found == commitStored {
				return returned
			}
		}
		switch {
		case lost != nil:
		case found == commitStored:
			t.node.proc.Notices.Committed(cm)
			return nil
		case found == runChanged:
			lost = engine.ErrStale
		case found == commitNotStored && returned == nil:
			lost = fmt.Errorf("%w: a transaction of the host's, which had returned without an error", errCommitsLost)
		case found == commitNotStored:
			next, err := decide.Report(t.record, t.node.proc.Now(), nil)
			if err != nil {
				return err
			}
			next.Fence = cm.Fence
			if t.node.proc.Commit(t.node.live, next) == nil {
				*t.record = next.Run
				return returned
			}
			superseding = &next.Run
		}
		if lost != nil {
			t.interrupt(lost)
			return lost
		}
		if t.node.proc.Sleep(t.node.live, backoff) != nil {
			return fmt.Errorf("engine: journal not written: %w", context.Cause(t.node.live))
		}
	}
}
