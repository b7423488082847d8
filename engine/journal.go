package engine

import (
	"context"
	"errors"
	"time"

	"github.com/interlude-go/interlude/interaction"
)

// Journal is implemented by the Sink if the host's store keeps journals. Engines in the host's
// process store results there for later turns, as package engine/flow does. Each Append is one
// commit, without an event.
//
// A journal is deleted with its run, and limited: see MaxJournalEntries.
type Journal interface {
	// Entries returns the run's entries so far, oldest first. The error is ErrNoJournal if the
	// host's store keeps no journals. The memory of journals is bounded: Entries may wait until
	// other turns have released theirs.
	Entries(ctx context.Context) ([]JournalEntry, error)
	// Release says that the engine keeps no body of the returned entries. Without it, their memory
	// is occupied until the turn ends.
	Release()
	// Append adds entries to the journal, all or none, and returns after they are stored. Errors:
	// ErrStale if the run was taken over or has ended, ErrNoJournal, or ErrJournalFull, after which
	// the turn may continue.
	Append(ctx context.Context, entries ...JournalEntry) error
}

// TransactionalJournal is a Journal whose entries can also be added inside a transaction of the
// host: an effect in the host's database and its entry are stored together or not at all. The Sink
// of a lifecycle implements it.
type TransactionalJournal interface {
	Journal
	// AppendIn calls transaction, which begins a transaction, calls write once as its last
	// operation, commits if write returned nil, and otherwise rolls back. view is the run's store
	// inside the transaction, from a store's method In.
	//
	// AppendIn returns nil when the entries are stored, even if transaction could not learn the
	// outcome of its commit. After any other error of an active turn they are not stored and never
	// will be. Its errors are Append's and transaction's. Between write and the end of transaction,
	// other reports through the Sink wait.
	AppendIn(ctx context.Context, transaction func(write func(
		ctx context.Context, view any, entries ...JournalEntry) error) error) error
}

// Errors of a Journal.
var (
	ErrNoJournal   = errors.New("engine: the host's store keeps no journals")
	ErrJournalFull = interaction.ErrJournalFull
)

// Clock returns the time and waits for it. It must be safe for concurrent use.
type Clock interface {
	// Now returns the present time.
	Now() time.Time
	// Timer returns a channel that receives once after d, and a function that releases the timer.
	Timer(d time.Duration) (c <-chan time.Time, stop func())
}
