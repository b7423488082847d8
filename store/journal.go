package store

import (
	"context"
	"fmt"

	"github.com/interlude-go/interlude/fsm"
)

// TransactionView is a store inside a transaction of the host, from a store's method In. Its
// commits are stored if and when the host commits.
type TransactionView interface {
	// Commit is Writer.Commit.
	Commit(ctx context.Context, batch []Commit) []error
	// InTransaction does nothing. No store outside of a transaction has it.
	InTransaction()
}

// validateJournal returns an error if the commit must not have its entries, or does not count them.
// Only a turn writes a journal; prev is the stored record.
func (c *Commit) validateJournal(prev *Run) error {
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
