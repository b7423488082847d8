package decide

import (
	"slices"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

var creation = fsm.Submit()

func Submission(run *store.Run, spec []byte) (*store.Commit, error) {
	c := newCommit(run)
	c.Run.Version, c.Spec = 1, spec
	err := addTransitionEvents(c, creation.Emits, &effects{})
	return c, err
}

// Start starts the next turn of a claimed run, as a ClaimRequest.Start.
func Start(run *store.Run, now time.Time) (store.Commit, error) {
	c, err := transition(run, fsm.EventTurnStarted, &effects{now: now})
	if err != nil {
		return store.Commit{}, err
	}
	return Detach(c), nil
}

func Cancel(run *store.Run, reason string, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventRunCanceled, &effects{
		now: now, ends: ending{reason: reason, message: reason}, settles: settlement{records: abandoned(run, now)},
	})
}

// LostProcess fails a waiting run whose resident process has ended.
func LostProcess(run *store.Run, why string, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventInteractionProcessLost, &effects{
		now: now, ends: ending{message: why}, settles: settlement{records: abandoned(run, now)},
	})
}

// Report makes a commit that changes no state: the events that an engine reports during its turn,
// and its session unless nil.
func Report(run *store.Run, now time.Time, session *engine.SessionHandle, events ...fcmp.Payload) (
	*store.Commit, error) {
	c := newCommit(run)
	c.Run.Version++
	c.Run.UpdatedAt = Later(now, run.UpdatedAt)
	if session != nil {
		c.Run.Session = session
	}
	for _, e := range events {
		if w, ok := e.(*fcmp.Warning); ok {
			c.Run.Warnings = withWarning(c.Run.Warnings, fsm.Warning(w.Code))
		}
		if err := addEvent(c, e); err != nil {
			return nil, err
		}
	}
	for _, e := range c.Events {
		c.Run.Reported += len(e.Body)
	}
	return c, nil
}

// Entries makes the commit of journal entries during a turn.
func Entries(run *store.Run, entries []engine.JournalEntry, now time.Time) (*store.Commit, error) {
	c, err := Report(withProgress(run, entries), now, nil)
	if err == nil {
		err = AddJournal(c, entries)
	}
	return c, err
}

// AddJournal adds and counts entries.
func AddJournal(c *store.Commit, entries []engine.JournalEntry) error {
	if len(entries) == 0 {
		return nil
	}
	size, err := c.Run.Journal.With(entries)
	c.Run.Journal, c.Journal = size, entries
	return err
}

// withProgress returns the run with its repeats and retries reset if its journal grows: later turns
// do not repeat these steps, so a long function completes even on nodes that are often lost. The
// journal's limits bound the resets.
func withProgress(run *store.Run, entries []engine.JournalEntry) *store.Run {
	if len(entries) == 0 || run.Repeats == 0 {
		return run
	}
	progressed := *run
	progressed.Repeats, progressed.Losses = 0, 0
	return &progressed
}

// CountChild counts one more child of a run whose turn starts it.
func CountChild(run *store.Run, now time.Time) (*store.Commit, error) {
	c, err := Report(run, now, nil)
	if err == nil {
		family := store.Family{}
		if run.Family != nil {
			family = *run.Family
		}
		family.Children++
		c.Run.Family = &family
	}
	return c, err
}

// Three kinds of commits leave work for relatives of their run: a run begins to wait for children,
// which may have ended already; a child ends, and its parent may be waiting; a parent ends, and its
// children end with it. Each sets Family.Due of its run, until a node has done the work.

// WaitedEnough reports whether a run with this block may continue. ended reports whether a child
// has ended or was deleted.
func WaitedEnough(b *store.Block, ended func(id string) bool, now time.Time) bool {
	switch {
	case !b.Until.IsZero() && !b.Until.After(now):
		return true
	case b.Any:
		return slices.ContainsFunc(b.Children, ended)
	}
	return !slices.ContainsFunc(b.Children, func(id string) bool { return !ended(id) })
}

// Continue ends the block of a run that has waited long enough for its children. Like the end of a
// sleep, it is no transition and has no event. If the budget is used up, the same commit holds the
// run, with a hold's event.
func Continue(run *store.Run, now time.Time) (*store.Commit, error) {
	c := newCommit(run)
	c.Run.Version++
	c.Run.UpdatedAt = Later(now, run.UpdatedAt)
	c.Run.QueuedAt = c.Run.UpdatedAt
	c.Run.Block = nil
	setFamilyDue(&c.Run, time.Time{})
	if c.Run.Budget.Spent() {
		return c, holdForBudget(c)
	}
	return c, nil
}

// FamilyDue changes when a node must next process the run's relatives; zero: never, and its parent
// no longer keeps the run.
func FamilyDue(run *store.Run, due time.Time) *store.Commit {
	c := newCommit(run)
	c.Run.Version++
	setFamilyDue(&c.Run, due)
	return c
}

// RetainForParent retains an ended run for its parent, which was informed. Nothing is due then.
func RetainForParent(run *store.Run) *store.Commit {
	c := FamilyDue(run, time.Time{})
	family := *c.Run.Family
	family.Kept = true
	c.Run.Family = &family
	return c
}
