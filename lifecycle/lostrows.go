package lifecycle

import (
	"fmt"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// A run's record counts the rows that other tables have of the run. Every reader compares, so that
// rows which were deleted or lost are noticed before a step is executed again, a question asked
// again, or a gap taken for the whole. The errors are store.ErrCorrupt, and name both numbers.

// checkJournal returns an error if the journal lacks entries that the record counts. It may have
// others: those of a commit whose acknowledgement was lost.
func checkJournal(id string, entries []interaction.JournalEntry, counted *interaction.JournalSize) error {
	var size int64
	for i := range entries {
		size += int64(entries[i].Size())
	}
	if counted == nil || len(entries) >= counted.Entries && size >= counted.Bytes {
		return nil
	}
	return fmt.Errorf("%w: the journal of run %s has %d entries of %d bytes, and its record counts %d of %d bytes",
		store.ErrCorrupt, id, len(entries), size, counted.Entries, counted.Bytes)
}

// checkHistory returns an error if the history lacks questions that the run has settled.
func checkHistory(run *Run, settled []Record) error {
	if want := run.Interactions - len(run.OpenQuestions()); len(settled) < want {
		return fmt.Errorf("%w: the history of run %s has %d settled questions, and its record counts %d",
			store.ErrCorrupt, run.ID, len(settled), want)
	}
	return nil
}

// checkEvents returns an error if the page does not go on without a gap from the cursor.
func checkEvents(id string, after uint64, page []store.Event) error {
	for _, e := range page {
		if e.Seq > after+1 {
			return fmt.Errorf("%w: run %s has event %d where event %d is expected", store.ErrCorrupt, id, e.Seq,
				after+1)
		}
		after = e.Seq
	}
	return nil
}

// heldForRows holds the run: an operator may restore the rows from a backup.
func heldForRows(err error) error {
	return &engine.Failure{Code: fsm.CodeEngineFailed, Held: true, Err: err}
}
