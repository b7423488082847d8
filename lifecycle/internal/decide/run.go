package decide

import (
	"slices"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

var creation = fsm.Submit()

// Submission creates the run, with its stored specification.
func Submission(run *store.Run, spec []byte) (*store.Commit, error) {
	c := newCommit(run)
	c.Run.Version, c.Spec = 1, spec
	err := addTransitionEvents(c, creation.Emits, &effects{})
	return c, err
}

// Starts makes the commits that start the turns of one claim.
type Starts struct {
	Now time.Time

	commits []*store.Commit
}

// Start is a store.ClaimRequest's Start.
func (s *Starts) Start(run store.Run, _ []byte) (store.Commit, error) {
	c, err := transition(&run, fsm.EventTurnStarted, &effects{now: s.Now})
	if err != nil {
		return store.Commit{}, err
	}
	s.commits = append(s.commits, c)
	return *c, nil
}

// Recycle returns the commits to the pool. Call it only after a successful claim: after a failed claim,
// the store may still use them.
func (s *Starts) Recycle() {
	for _, c := range s.commits {
		Recycle(c)
	}
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

// Report stores events that an engine reports during its turn, and its session unless nil. The
// run's state stays.
func Report(run *store.Run, now time.Time, session *engine.SessionHandle, events ...fcmp.Payload) (
	*store.Commit, error) {
	c := nextVersion(run, now)
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

// Forget ends a remembered decision. It does not change the run's state.
func Forget(run *store.Run, id int, by interaction.Actor, now time.Time) (*store.Commit, error) {
	if run.Memory(id) == nil {
		return nil, ErrNotRemembered
	}
	c := nextVersion(run, now)
	c.Run.Remembered = slices.DeleteFunc(slices.Clone(run.Remembered), func(m interaction.Memory) bool {
		return m.ID == id
	})
	if len(c.Run.Remembered) == 0 {
		c.Run.Remembered = nil
	}
	return c, addEvent(c, &fcmp.Forgotten{InteractionID: id, Actor: by.ID, Via: by.Via})
}

// Entries stores journal entries during a turn.
func Entries(run *store.Run, entries []engine.JournalEntry, now time.Time) (*store.Commit, error) {
	c, err := Report(withProgress(run, entries), now, nil)
	if err == nil {
		err = AddJournal(c, entries)
	}
	return c, err
}

// AddJournal adds entries to a commit, and counts them in its run.
func AddJournal(c *store.Commit, entries []engine.JournalEntry) error {
	if len(entries) == 0 {
		return nil
	}
	size, err := c.Run.Journal.With(entries)
	c.Run.Journal, c.Journal = size, entries
	return err
}

// withProgress resets the run's repeats if its journal grows: later turns skip the journaled steps,
// so a long function completes even on nodes that are often lost. The journal's limits bound this.
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

// WaitedEnough reports whether a run with this block may continue. open reports whether a child
// exists and has not ended.
func WaitedEnough(b *store.Block, open func(child string) bool, now time.Time) bool {
	if !b.Until.IsZero() && !b.Until.After(now) {
		return true
	}
	if b.Any {
		return slices.ContainsFunc(b.Children, func(child string) bool { return !open(child) })
	}
	return !slices.ContainsFunc(b.Children, open)
}

// Continue ends the block of a run that has waited long enough for its children. Like the end of a
// sleep, it has no event. If the budget is used up, the commit holds the run, with a hold's event.
func Continue(run *store.Run, now time.Time) (*store.Commit, error) {
	c := nextVersion(run, now)
	c.Run.QueuedAt = c.Run.UpdatedAt
	c.Run.Block = nil
	setFamilyDue(&c.Run, time.Time{})
	if c.Run.Budget.Spent() {
		return c, holdForBudget(c)
	}
	return c, nil
}

// FamilyDue sets when a node must next process the run's parent and children. With a zero time
// there is nothing to process, and the run is no longer kept for its parent.
func FamilyDue(run *store.Run, due time.Time) *store.Commit {
	c := newCommit(run)
	c.Run.Version++
	setFamilyDue(&c.Run, due)
	return c
}

// RetainForParent keeps an ended run for its parent, which has been informed of the end. No work
// is due.
func RetainForParent(run *store.Run) *store.Commit {
	c := FamilyDue(run, time.Time{})
	family := *c.Run.Family
	family.Kept = true
	c.Run.Family = &family
	return c
}
