package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// This file implements the journal of a run (M1), in which its turns store entries for later turns.
// Entries are written under the turn's fence, in a commit that has no event. Here is also the end
// of a turn whose run sleeps.

// maxJournalsRead bounds the journals that the turns of a process hold in memory at one time, in
// bytes as a run's record counts them. A journal is at most half as large.
const maxJournalsRead = 2 * interaction.MaxJournalSize

// journalRoom is the memory that a turn occupies by the journal it has read.
type journalRoom struct {
	mu   sync.Mutex
	held int64 // guarded by mu; bytes of maxJournalsRead
	over bool  // guarded by mu; the turn has ended, and reads no more
}

// reserve waits until other turns have released enough for a journal of this size, in the order of
// the calls. It first releases what the turn has read before, so that a turn never waits for itself.
func (j *journalRoom) reserve(ctx context.Context, room *semaphore.Weighted, size int64) error {
	j.release(room, false)
	if err := room.Acquire(ctx, size); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over {
		room.Release(size)
		return engine.ErrStale
	}
	j.held += size
	return nil
}

// release returns the memory. Last says that the turn reads no more.
func (j *journalRoom) release(room *semaphore.Weighted, last bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.held > 0 {
		room.Release(j.held)
	}
	j.held, j.over = 0, j.over || last
}

// Release implements engine.Journal.
func (s *sink) Release() {
	t := (*turn)(s)
	t.journalRoom.release(t.node.journals, false)
}

// Entries implements engine.Journal. If the store fails, it reads again until it gets an answer or
// the turn's context ends.
func (s *sink) Entries(ctx context.Context) ([]engine.JournalEntry, error) {
	t := (*turn)(s)
	counted := t.lastStored().Journal // before the journal is read, to which a branch may add
	if err := t.journalRoom.reserve(ctx, t.node.journals, journalSize(t.origin, counted)); err != nil {
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

// journalSize is how much of maxJournalsRead a turn needs to read its journal.
func journalSize(from *decide.Origin, own *interaction.JournalSize) (size int64) {
	if from != nil {
		for i := range from.Journal {
			size += int64(from.Journal[i].Size())
		}
	}
	if own != nil {
		size += own.Bytes
	}
	return min(size, maxJournalsRead)
}

// inheritJournal reads the part of the source's journal that the fork inherits. The source may go
// on meanwhile: it only adds entries, and never changes one.
func (c *Client) inheritJournal(ctx context.Context, s *forkSource, from *decide.Origin) error {
	if from.OwnEntries == 0 {
		return nil
	}
	var room journalRoom
	if err := room.reserve(ctx, c.journals, journalSize(nil, s.Run.Journal)); err != nil {
		return fmt.Errorf("lifecycle: fork run %s: %w", s.Run.ID, err)
	}
	defer room.release(c.journals, true)
	entries, err := c.proc.Store.Journal(ctx, s.Run.ID)
	if err == nil {
		err = store.CheckJournal(s.Run.ID, entries, s.Run.Journal)
	}
	if err == nil && len(entries) < from.OwnEntries {
		err = fmt.Errorf("%w: its journal has %d entries of %d", store.ErrCorrupt, len(entries), from.OwnEntries)
	}
	if err != nil {
		return fmt.Errorf("lifecycle: fork run %s: %w", s.Run.ID, err)
	}
	from.Journal = append(from.Journal, entries[:from.OwnEntries]...)
	return c.checkChildrenEnded(ctx, s, from.Point)
}

// checkChildrenEnded refuses the fork if a child of the source existed at that time and had not
// ended: the journal names the child, and the fork could not wait for the child of another run.
func (c *Client) checkChildrenEnded(ctx context.Context, s *forkSource, at time.Time) error {
	if s.Run.Family == nil || s.Run.Family.Children == 0 {
		return nil
	}
	for q := (store.Query{Parent: s.Run.ID, Limit: store.MaxBatch}); ; {
		page, err := c.proc.Store.Runs(ctx, q)
		if err != nil {
			return fmt.Errorf("lifecycle: fork run %s: %w", s.Run.ID, err)
		}
		for i := range page.Runs {
			child := &page.Runs[i]
			if !child.CreatedAt.After(at) && (!child.State.Terminal() || child.FinishedAt.After(at)) {
				return s.refuse("it had started run %s, which had not ended at that point", child.ID)
			}
		}
		if q.After = page.Next; page.Next == "" {
			return nil
		}
	}
}

// Append implements engine.Journal.
func (s *sink) Append(ctx context.Context, entries ...engine.JournalEntry) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("engine: journal not written: %w", context.Cause(ctx))
	}
	t := (*turn)(s)
	t.mu.Lock() // the turn must not end before this commit
	defer t.mu.Unlock()
	if t.reportsClosed {
		return fmt.Errorf("%w: the turn has ended", engine.ErrStale)
	}
	if _, err := t.record.Journal.With(entries); err != nil || len(entries) == 0 {
		return err
	}
	return errorForEngine(t.commitLocked(func(run *store.Run, now time.Time) (*store.Commit, error) {
		return decide.Entries(run, entries, now)
	}))
}
