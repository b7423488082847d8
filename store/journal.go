package store

import (
	"context"
	"fmt"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// JournalReader is implemented by a store that keeps Commit.Journal (M1). The stores of this
// project are JournalReaders, and storetest requires it of every store. Other stores never get a
// Commit.Journal.
//
// A store keeps each entry once and never rewrites it, so that the cost of a commit does not grow
// with the journal of its run. Prune deletes the journals of the runs that it deletes.
type JournalReader interface {
	// Journal returns the entries of the run in the order in which they were written. ErrNotFound
	// for an unknown run.
	Journal(ctx context.Context, id string) ([]interaction.JournalEntry, error)
}

// TransactionView is a store as it is seen inside a transaction of the host's own. A store in the
// host's database returns it by its method In. What is committed there is stored when the host
// commits, or not at all.
type TransactionView interface {
	// Commit is that of Writer.
	Commit(ctx context.Context, batch []Commit) []error
	// InTransaction does nothing. No store outside of a transaction has it.
	InTransaction()
}

// checkJournal returns an error if the commit must not have its entries, or does not count them.
// Only a turn writes a journal; prev is the stored record.
func (c *Commit) checkJournal(prev *Run) error {
	if len(c.Journal) == 0 && prev.Journal == nil && c.Run.Journal == nil {
		return nil
	}
	if len(c.Journal) > 0 && prev.State != fsm.StateRunning {
		return invalid(&c.Run, "only a turn writes a journal; it is %s", prev.State)
	}
	want, err := prev.Journal.With(c.Journal)
	switch {
	case err != nil:
		return fmt.Errorf("%w: run %.128s: %w", ErrInvalid, c.Run.ID, err)
	case want == nil || c.Run.Journal == nil || *want != *c.Run.Journal:
		return invalid(&c.Run, "its journal has %+v, and the commit counts %+v", want, c.Run.Journal)
	}
	return nil
}
