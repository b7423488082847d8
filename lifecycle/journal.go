package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// This file has what turns keep for later ones (M1): entries in the run's journal, each written in one
// commit under the turn's fence, without an event. And it lets runs sleep.

// Entries implements engine.Journal. As long as the store fails, it reads again.
func (s *sink) Entries(ctx context.Context) ([]engine.JournalEntry, error) {
	t := (*turn)(s)
	reader, ok := t.node.store.(store.JournalReader)
	if !ok {
		return nil, engine.ErrNoJournal
	}
	var inherited []engine.JournalEntry
	if t.origin != nil {
		inherited = store.CloneJournal(t.origin.Journal)
	}
	if run := t.lastStored(); run.Journal == nil {
		return inherited, nil
	}
	for backoff := firstBackoff; ; backoff = min(2*backoff, t.node.cfg.Poll) {
		entries, err := reader.Journal(ctx, t.call.RunID)
		switch {
		case err == nil, errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrCorrupt):
			return append(inherited, entries...), err
		case ctx.Err() != nil:
			return nil, fmt.Errorf("engine: journal not read: %w", context.Cause(ctx))
		}
		t.node.log.Error("journal not read; trying again", "run", t.call.RunID, "err", err)
		if t.node.sleep(ctx, backoff) != nil {
			return nil, fmt.Errorf("engine: journal not read: %w", context.Cause(ctx))
		}
	}
}

// inheritJournal reads the part of the source's journal that the fork inherits. Entries are never changed,
// so it matters not that the source may go on meanwhile.
func (c *Client) inheritJournal(ctx context.Context, s *forkSource, from *origin) error {
	if from.journal == 0 {
		return nil
	}
	reader, ok := c.store.(store.JournalReader)
	if !ok {
		return s.refuse("its journal cannot be read: %v", engine.ErrNoJournal)
	}
	entries, err := reader.Journal(ctx, s.run.ID)
	if err == nil && len(entries) < from.journal {
		err = fmt.Errorf("%w: its journal has %d entries of %d", store.ErrCorrupt, len(entries), from.journal)
	}
	if err != nil {
		return fmt.Errorf("lifecycle: fork run %s: %w", s.run.ID, err)
	}
	from.Journal = append(from.Journal, entries[:from.journal]...)
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
			if !child.CreatedAt.After(from.asked) && (!child.State.Terminal() || child.FinishedAt.After(from.asked)) {
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
	t.mu.Lock() // so that the turn does not end before the commit
	defer t.mu.Unlock()
	if t.reportsClosed {
		return fmt.Errorf("%w: the turn has ended", engine.ErrStale)
	}
	if _, err := t.record.Journal.With(entries); err != nil || len(entries) == 0 {
		return err
	}
	return staleFor(t.commitLocked(func(run *store.Run, now time.Time) (*store.Commit, error) {
		return decideEntries(run, entries, now)
	}))
}

// decideEntries makes the commit that writes entries to the journal of a run while its turn executes.
func decideEntries(run *store.Run, entries []interaction.JournalEntry, now time.Time) (*store.Commit, error) {
	c, err := decideReport(run, now, nil)
	if err == nil {
		err = addJournal(c, entries)
	}
	return c, err
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

// findJournal notes what the outcome adds to the journal. A turn whose entries cannot be kept has
// failed.
func (t *turn) findJournal(ev *turnEvidence, o engine.Outcome) {
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

// keptJournal are the entries that are kept with the turn's end: none if it was interrupted, since what
// its engine returned then does not count.
func (t *turnEvidence) keptJournal() []engine.JournalEntry {
	if t.interruption != nil {
		return nil
	}
	return t.journal
}

// decideSleep ends a turn that ended well, and whose run goes on with another turn at a later time.
func decideSleep(run *store.Run, turn *turnEvidence, node string, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventTurnYielded, &details{
		now: now, node: node, facts: fsm.FactPassing, profile: turn.profile, session: turn.session,
		warnings: turn.warnings, sleep: turn.sleep,
	})
}

// sleep records in next that its turn ended well, and when the next one begins. It is no round, and no
// retry.
func sleep(next *store.Run, until time.Time) {
	next.Repeats, next.Holds = 0, 0
	next.Yielded++
	next.Answer, next.Together = nil, nil
	next.NotBefore = notEarlier(storeTime(until.Add(time.Microsecond-1)), next.NotBefore)
	next.Block = &store.Block{Kind: store.BlockSleep, Until: next.NotBefore, Reason: "the run sleeps"}
}
