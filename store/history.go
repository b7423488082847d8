package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/interaction"
)

// HistoryQuery selects a page of a run's settled interactions.
type HistoryQuery struct {
	// After is the interaction before the page; 0 begins with the first, or the newest.
	After int
	// Newest reverses the order.
	Newest bool
	// Limit is the maximum number of interactions, from 1 to MaxBatch.
	Limit int
}

// Validate returns an error that matches ErrInvalid for an invalid query.
func (q HistoryQuery) Validate() error {
	if q.After < 0 {
		return fmt.Errorf("%w: a page after interaction %d", ErrInvalid, q.After)
	}
	return ValidateLimit(q.Limit)
}

// Has reports whether the page may have this interaction.
func (q HistoryQuery) Has(number int) bool {
	if q.Newest {
		return q.After == 0 || number < q.After
	}
	return number > q.After
}

// EachSettled calls visit with the run's settled interactions, page by page in order of their
// numbers, and with the run as read with the first page. It omits interactions settled later: visit
// sees a consistent snapshot. ErrCorrupt if settled interactions are missing.
func EachSettled(ctx context.Context, r RunReader, id string, visit func(*Run, []interaction.Record) error) error {
	var run Run
	q := HistoryQuery{Limit: MaxBatch}
	for first := true; first || q.After < run.Interactions; first = false {
		now, page, err := r.History(ctx, id, q)
		if err != nil {
			return err
		}
		if first {
			run = now
		} else if err := checkSameRun(&run, &now); err != nil {
			return err
		}
		if err := CheckHistory(ctx, r, &now, q, page); err != nil {
			return err
		}
		last := run.Interactions
		if len(page) > 0 {
			last = page[len(page)-1].Question.ID
		}
		page = slices.DeleteFunc(page, func(s interaction.Record) bool {
			return s.Question.ID > run.Interactions || run.OpenQuestion(s.Question.ID) != nil
		})
		if err := visit(&run, page); err != nil {
			return err
		}
		q.After = last
	}
	return nil
}

// ReadHistory returns the run and all its settled interactions, as EachSettled visits them. Prefer
// EachSettled or History: they may be many and large.
func ReadHistory(ctx context.Context, r RunReader, id string) (run Run, all []interaction.Record, _ error) {
	err := EachSettled(ctx, r, id, func(of *Run, page []interaction.Record) error {
		run, all = *of, append(all, page...)
		return nil
	})
	return run, all, err
}

// A run's record counts its rows in other tables. Every reader compares the numbers, so that lost
// rows neither cause a repeated step or question nor leave an undetected gap. The errors are
// ErrCorrupt, and name both numbers.

// CheckHistory returns an error if the page lacks settled interactions: a gap, or everything after
// q.After; or if it is out of order, so that the next page would not come after it. page is
// History's result for q, with the run.
func CheckHistory(ctx context.Context, r RunReader, run *Run, q HistoryQuery, page []interaction.Record) error {
	if err := q.checkOrder(run.ID, page); err != nil {
		return err
	}
	number, step, i := q.After+1, 1, 0
	if q.Newest {
		number, step = cmp.Or(q.After, run.Interactions+1)-1, -1
	}
	for ; 1 <= number && number <= run.Interactions; number += step {
		switch {
		case i < len(page) && page[i].Question.ID == number:
			i++
		case run.OpenQuestion(number) == nil && (i < len(page) || i == 0):
			return lostHistory(ctx, r, run)
		case i == len(page) && i > 0:
			return nil // the next page has the others
		}
	}
	return nil
}

// checkOrder returns an error if the page, a result of q, is not in q's order.
func (q HistoryQuery) checkOrder(id string, page []interaction.Record) error {
	for i := range page {
		number := page[i].Question.ID
		if number < 1 || !q.Has(number) {
			return fmt.Errorf("%w: the history of run %s has question %d after question %d", ErrCorrupt, id, number,
				q.After)
		}
		q.After = number
	}
	return nil
}

// checkSameRun returns an error if the run was deleted, and its id used again, between two reads.
func checkSameRun(before, now *Run) error {
	if now.CreatedAt.Equal(before.CreatedAt) {
		return nil
	}
	return fmt.Errorf("%w: run %s was deleted, and its id used again", ErrNotFound, before.ID)
}

// lostHistory is the error of an incomplete history: ErrNotFound if the run was deleted since it was
// read.
func lostHistory(ctx context.Context, r RunReader, run *Run) error {
	count, q := 0, HistoryQuery{Limit: MaxBatch}
	for {
		now, page, err := r.History(ctx, run.ID, q)
		if err == nil {
			err = checkSameRun(run, &now)
		}
		if err != nil {
			return err
		}
		if err := q.checkOrder(run.ID, page); err != nil {
			return err
		}
		if count += len(page); len(page) == 0 {
			return fmt.Errorf("%w: the history of run %s has %d settled questions, and its record counts %d",
				ErrCorrupt, run.ID, count, now.Interactions-len(now.Open))
		}
		q.After = page[len(page)-1].Question.ID
	}
}

// CheckJournal returns an error if the journal lacks entries that the record counts. Additional
// entries are allowed: the acknowledgement of their commit was lost.
func CheckJournal(id string, entries []interaction.JournalEntry, counted *interaction.JournalSize) error {
	var size int64
	for i := range entries {
		size += int64(entries[i].Size())
	}
	if counted == nil || len(entries) >= counted.Entries && size >= counted.Bytes {
		return nil
	}
	return fmt.Errorf("%w: the journal of run %s has %d entries of %d bytes, and its record counts %d of %d bytes",
		ErrCorrupt, id, len(entries), size, counted.Entries, counted.Bytes)
}

// CheckEvents returns an error if the page does not continue from the cursor without a gap, or if
// it is empty although counted, the run's Seq before the read or 0 if unknown, is after the cursor.
func CheckEvents(id string, after uint64, page []Event, counted uint64) error {
	if len(page) == 0 && after < counted {
		return fmt.Errorf("%w: run %s has no event after %d, and its record counts %d", ErrCorrupt, id, after, counted)
	}
	for _, e := range page {
		if e.Seq != after+1 {
			return fmt.Errorf("%w: run %s has event %d where event %d is expected", ErrCorrupt, id, e.Seq, after+1)
		}
		after = e.Seq
	}
	return nil
}
