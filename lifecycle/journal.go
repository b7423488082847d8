package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
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
	reader, ok := t.node.store.(store.JournalReader)
	if !ok {
		return nil, engine.ErrNoJournal
	}
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
		entries, err = reader.Journal(ctx, t.call.RunID)
		return err
	})
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("engine: journal not read: %w", context.Cause(ctx))
	}
	if err == nil {
		if lost := checkJournal(t.call.RunID, entries, counted); lost != nil {
			err = heldForRows(lost)
		}
	}
	return append(inherited, entries...), err
}

// journalSize is how much of maxJournalsRead a turn needs to read its journal.
func journalSize(from *origin, own *interaction.JournalSize) (size int64) {
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
func (c *Client) inheritJournal(ctx context.Context, s *forkSource, from *origin) error {
	if from.ownEntries == 0 {
		return nil
	}
	reader, ok := c.store.(store.JournalReader)
	if !ok {
		return s.refuse("its journal cannot be read: %v", engine.ErrNoJournal)
	}
	var room journalRoom
	if err := room.reserve(ctx, c.journals, journalSize(nil, s.run.Journal)); err != nil {
		return fmt.Errorf("lifecycle: fork run %s: %w", s.run.ID, err)
	}
	defer room.release(c.journals, true)
	entries, err := reader.Journal(ctx, s.run.ID)
	if err == nil {
		err = checkJournal(s.run.ID, entries, s.run.Journal)
	}
	if err == nil && len(entries) < from.ownEntries {
		err = fmt.Errorf("%w: its journal has %d entries of %d", store.ErrCorrupt, len(entries), from.ownEntries)
	}
	if err != nil {
		return fmt.Errorf("lifecycle: fork run %s: %w", s.run.ID, err)
	}
	from.Journal = append(from.Journal, entries[:from.ownEntries]...)
	return c.checkChildrenEnded(ctx, s, from.pointTime)
}

// checkChildrenEnded refuses the fork if a child of the source existed at that time and had not
// ended: the journal names the child, and the fork could not wait for the child of another run.
func (c *Client) checkChildrenEnded(ctx context.Context, s *forkSource, at time.Time) error {
	if s.run.Family == nil || s.run.Family.Children == 0 {
		return nil
	}
	for q := (store.Query{Parent: s.run.ID, Limit: store.MaxBatch}); ; {
		page, err := c.store.Runs(ctx, q)
		if err != nil {
			return fmt.Errorf("lifecycle: fork run %s: %w", s.run.ID, err)
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
	if !t.node.keepsJournals {
		return engine.ErrNoJournal
	}
	t.mu.Lock() // the turn must not end before this commit
	defer t.mu.Unlock()
	if t.reportsClosed {
		return fmt.Errorf("%w: the turn has ended", engine.ErrStale)
	}
	if _, err := t.record.Journal.With(entries); err != nil || len(entries) == 0 {
		return err
	}
	return errorForEngine(t.commitLocked(func(run *store.Run, now time.Time) (*store.Commit, error) {
		return decideEntries(run, entries, now)
	}))
}

// decideEntries makes the commit that writes entries to the journal of a run while its turn
// executes.
func decideEntries(run *store.Run, entries []interaction.JournalEntry, now time.Time) (*store.Commit, error) {
	c, err := decideReport(withProgress(run, entries), now, nil)
	if err == nil {
		err = addJournal(c, entries)
	}
	return c, err
}

// withProgress returns the run with its count of repeats and retries reset, if entries are added to
// its journal. Such a turn has made progress: later turns do not repeat what the entries are about
// (J3). So a long function comes to its end on nodes that are often lost. Resets are bounded,
// because a journal has limits.
func withProgress(run *store.Run, entries []interaction.JournalEntry) *store.Run {
	if len(entries) == 0 || run.Repeats == 0 {
		return run
	}
	progressed := *run
	progressed.Repeats = 0
	return &progressed
}

// addJournal adds entries to a commit, and counts them.
func addJournal(c *store.Commit, entries []interaction.JournalEntry) error {
	if len(entries) == 0 {
		return nil
	}
	size, err := c.Run.Journal.With(entries)
	c.Run.Journal, c.Journal = size, entries
	return err
}

// collectJournal adds to the evidence the entries that the outcome appends to the journal. If they
// cannot be stored, the turn has failed.
func (t *turn) collectJournal(ev *turnEvidence, o engine.Outcome) {
	if len(o.Journal) == 0 {
		return
	}
	run := t.lastStored()
	_, err := run.Journal.With(o.Journal)
	if !t.node.keepsJournals {
		err = engine.ErrNoJournal
	}
	if err != nil {
		ev.sleep, ev.children = time.Time{}, nil
		ev.setProcess(engine.Process{Status: engine.Failed, Detail: err.Error()})
		return
	}
	ev.journal = slices.Clone(o.Journal)
}

// finalEntries returns the journal entries that are stored with the end of the turn. There are none
// if it was interrupted, because the outcome of an interrupted turn is not stored.
func (t *turnEvidence) finalEntries() []engine.JournalEntry {
	if t.interruption != nil {
		return nil
	}
	return t.journal
}

// decideSleep ends a turn without an error whose run goes on with another turn at a later time.
func decideSleep(run *store.Run, turn *turnEvidence, node string, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventTurnYielded, &details{
		now: now, node: node, facts: fsm.FactPassing, profile: turn.profile, session: turn.session,
		warnings: turn.warnings, sleep: turn.sleep,
	})
}

// putToSleep queues the run again after a turn that ended without an error, for a next turn at a
// later time. A sleep does not count as a repeat, and ends a row of them.
func putToSleep(next *store.Run, until time.Time) {
	next.Repeats, next.Holds = 0, 0
	next.Yielded++
	next.Answer, next.Together = nil, nil
	next.NotBefore = notEarlier(storeTime(until.Add(time.Microsecond-1)), next.NotBefore)
	next.Block = &store.Block{Kind: store.BlockSleep, Until: next.NotBefore, Reason: "the run sleeps"}
}
