package node

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// A run's journal has entries that its turns store for later turns, under the turn's fence, in
// commits without an event.

// Release implements engine.Journal.
func (s *sink) Release() {
	t := (*turn)(s)
	t.room.Release(t.node.proc.Journals)
}

// Entries implements engine.Journal. It retries store failures until the turn's context ends.
func (s *sink) Entries(ctx context.Context) ([]engine.JournalEntry, error) {
	t := (*turn)(s)
	counted := t.lastStored().Journal // before reading the journal, to which a parallel step may add
	if err := t.room.Reserve(ctx, t.node.proc.Journals, JournalSize(t.origin, counted)); err != nil {
		return nil, fmt.Errorf("engine: journal not read: %w", cmp.Or(context.Cause(ctx), err))
	}
	var inherited []engine.JournalEntry
	if t.origin != nil {
		inherited = store.CloneJournal(t.origin.Journal)
	}
	if counted == nil {
		return inherited, nil
	}
	var entries []engine.JournalEntry
	err := t.untilAnswered(ctx, "journal not read", func() (err error) {
		entries, err = t.node.proc.Store.Journal(ctx, t.call.RunID)
		return err
	})
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("engine: journal not read: %w", context.Cause(ctx))
	}
	if err == nil {
		if lost := store.CheckJournal(t.call.RunID, entries, counted); lost != nil {
			err = heldForRows(lost)
		}
	}
	return append(inherited, entries...), err
}

// Append implements engine.Journal.
func (s *sink) Append(ctx context.Context, entries ...engine.JournalEntry) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("engine: journal not written: %w", context.Cause(ctx))
	}
	t := (*turn)(s)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.checkOpen(); err != nil {
		return err
	}
	if _, err := t.record.Journal.With(entries); err != nil || len(entries) == 0 {
		return err
	}
	return errorForEngine(t.commitLocked(func(run *store.Run, now time.Time) (*store.Commit, error) {
		return decide.Entries(run, entries, now)
	}))
}
