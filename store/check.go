package store

import (
	"bytes"
	"fmt"
	"maps"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// MaxBatch is the largest limit of a listing and of a claim.
const MaxBatch = 1000

// MinPage is the size in bytes from which on a store may end a page of events although more would
// follow within the limit, so that a reader of large events needs little memory.
const MinPage = 256 << 10

// Check returns an error that matches ErrInvalid if no store may store the commit on prev, the
// stored record, which is nil when the commit creates the run. The claim flag says that a claim
// makes the commit: it alone may give a run a slot and an epoch. Check does not compare versions
// and fences: those are races, not faults.
func (c *Commit) Check(prev *Run, claim bool) error {
	if err := c.CheckSelf(); err != nil {
		return err
	}
	if prev == nil {
		return nil
	}
	return c.CheckNext(prev, claim)
}

// CheckSelf is the part of Check that needs no previous record.
func (c *Commit) CheckSelf() error {
	r := &c.Run
	create := c.Expect == 0
	first := r.Seq - uint64(len(c.Events)) + 1
	err := r.Coherent()
	switch {
	case err != nil:
		return err
	case r.Version != c.Expect+1:
		return invalid(r, "version is %d, want %d", r.Version, c.Expect+1)
	case create && (len(c.Spec) == 0 || c.Fence != nil || len(c.Settled) > 0 || c.Usage != nil):
		return invalid(r, "a commit that creates a run has a spec, no fence and no usage, and settles nothing")
	case create && (len(c.Journal) > 0 || r.Journal != nil):
		return invalid(r, "a new run has no journal")
	case create && (r.Answer != nil || r.Together != nil) && r.ForkedFrom == nil:
		return invalid(r, "only a fork begins with an answer")
	case create && r.AsksAgain() && (r.Answer != nil || r.Together != nil):
		return invalid(r, "a fork that asks again begins without an answer")
	case create && (r.State != fsm.StateQueued || r.Slot || r.Attempt != 0 || r.Epoch != 0 || first != 1):
		return invalid(r, "a new run is queued, without slot, attempt or epoch, and its events begin at 1")
	case !create && c.Spec != nil:
		return invalid(r, "the spec cannot be changed")
	case uint64(len(c.Events)) > r.Seq:
		return invalid(r, "%d events end at seq %d", len(c.Events), r.Seq)
	}
	for i, e := range c.Events {
		if e.Seq != first+uint64(i) {
			return invalid(r, "event %d has seq %d, want %d", i, e.Seq, first+uint64(i))
		}
		if len(e.Body) == 0 || bytes.IndexByte(e.Body, '\n') >= 0 {
			return invalid(r, "event %d is empty or has a line break", e.Seq)
		}
	}
	if err := c.checkTexts(); err != nil {
		return err
	}
	return c.checkSettled()
}

// CheckNext is the part of Check that compares with the previous record.
func (c *Commit) CheckNext(prev *Run, claim bool) error {
	r := &c.Run
	switch {
	case prev.State.Terminal() && c.changesDueAlone(prev):
		return nil
	case prev.State.Terminal():
		return invalid(r, "it is %s, which does not change any more", prev.State)
	case r.Seq != prev.Seq+uint64(len(c.Events)):
		return invalid(r, "events end at %d, want %d", r.Seq, prev.Seq+uint64(len(c.Events)))
	case r.State != prev.State && !hasTransition(prev.State, r.State):
		return invalid(r, "no transition leads from %s to %s", prev.State, r.State)
	case r.State != prev.State && len(c.Events) == 0:
		return invalid(r, "it goes from %s to %s without an event that tells of it", prev.State, r.State)
	case claim && (prev.Held() || prev.AwaitsChildren()):
		return invalid(r, "it is held, or waits for other runs, and cannot be claimed")
	case claim && r.State == prev.State:
		return invalid(r, "a claim starts the run or ends it; it is still %s", r.State)
	case r.State == fsm.StateRunning && prev.State != fsm.StateRunning && r.Attempt != prev.Attempt+1,
		r.State != fsm.StateRunning && r.Attempt != prev.Attempt, r.State == prev.State && r.Attempt != prev.Attempt:
		return invalid(r, "attempt goes from %d to %d in a commit from %s to %s: a start adds one, and nothing else "+
			"changes it",
			prev.Attempt, r.Attempt, prev.State, r.State)
	case r.Slot && !prev.Slot && !claim:
		return invalid(r, "only a claim gives a slot")
	case r.Epoch != prev.Epoch && !claim:
		return invalid(r, "only a claim gives an epoch")
	case r.Yielded != prev.Yielded && (r.Yielded != prev.Yielded+1 || prev.State != fsm.StateRunning ||
		r.State != fsm.StateQueued && (r.State != fsm.StateWaitingUser || !prev.AsksAgain())):
		return invalid(r, "yielded grows by one, and only when a turn goes back to the queue or a fork asks again")
	case r.Interactions < prev.Interactions || r.UpdatedAt.Before(prev.UpdatedAt):
		return invalid(r, "interactions and updated_at do not go back")
	case !sameSubmission(prev, r):
		return invalid(r, "what was fixed at submission cannot be changed")
	case !r.NotBefore.Equal(prev.NotBefore) && (prev.State != fsm.StateRunning || r.State != fsm.StateQueued ||
		r.NotBefore.Before(prev.NotBefore)):
		return invalid(r, "not_before moves only when a turn goes back to the queue, and only later")
	}
	if err := c.checkUsage(prev); err != nil {
		return err
	}
	if err := c.checkBudget(prev); err != nil {
		return err
	}
	if err := c.checkJournal(prev); err != nil {
		return err
	}
	return c.checkQuestions(prev)
}

// stateChanges are the pairs of states, from and to, for which the contract has a transition.
var stateChanges = func() map[[2]fsm.State]bool {
	pairs := make(map[[2]fsm.State]bool)
	for _, t := range fsm.Transitions() {
		pairs[[2]fsm.State{t.From, t.To}] = true
	}
	return pairs
}()

func hasTransition(from, to fsm.State) bool { return stateChanges[[2]fsm.State{from, to}] }

func sameSubmission(a, b *Run) bool {
	return a.ID == b.ID && a.Contract == b.Contract && a.SpecDigest == b.SpecDigest && a.Engine == b.Engine &&
		a.Mode == b.Mode && a.Restricted == b.Restricted &&
		a.Strict == b.Strict && a.SessionTimeout == b.SessionTimeout && a.MaxAttempts == b.MaxAttempts &&
		a.MaxAutoDecisions == b.MaxAutoDecisions && a.Repeatable == b.Repeatable && a.MaxRepeats == b.MaxRepeats &&
		a.OnInterrupt == b.OnInterrupt && a.Hold == b.Hold &&
		a.Pool == b.Pool && a.Key == b.Key && a.Title == b.Title &&
		a.Priority == b.Priority && maps.Equal(a.Labels, b.Labels) && a.CreatedAt.Equal(b.CreatedAt) &&
		sameForkPoint(a.ForkedFrom, b.ForkedFrom) && sameAncestors(a, b)
}

func sameForkPoint(a, b *ForkPoint) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// Coherent returns an error that matches ErrInvalid if the record contradicts itself (I10).
func (r *Run) Coherent() error {
	waiting, running := r.State == fsm.StateWaitingUser, r.State == fsm.StateRunning
	switch {
	case r.Reported < 0 || r.Repeats < 0 || r.MaxRepeats < 0 || r.Yielded < 0 || r.Yielded > r.Attempt:
		return invalid(r, "repeats and max_repeats are at least 0, and yielded is from 0 to attempt")
	case r.Holds < 0 || r.Holds > r.Yielded:
		return invalid(r, "holds are from 0 to yielded")
	case r.Journal != nil && (r.Journal.Entries < 1 || r.Journal.Bytes < int64(r.Journal.Entries)):
		return invalid(r, "a journal that is counted has entries and bytes")
	case r.Budget != nil && !r.Budget.fits(r.Attempt):
		return invalid(r, "a budget has a limit, and what is used of it are at most as many turns as there were "+
			"attempts")
	case r.Block != nil && !r.Block.fits(r):
		return invalid(r, "a block is a retry or a sleep, of a queued run and until its not_before, or of a queued "+
			"run that waits for 1 to %d children, or a hold with 1 to %d choices, of a queued or waiting run; the run "+
			"has no slot", MaxChildren, maxChoices)
	case r.Family != nil && !r.Family.fits(r):
		return invalid(r, "a family has up to %d ancestors and %d children, and is due in a run that is queued or has "+
			"ended", MaxDepth, MaxChildren)
	case r.ForkedFrom != nil && (r.ForkedFrom.RunID == "" || r.ForkedFrom.RunID == r.ID || r.ForkedFrom.Question < 0):
		return invalid(r, "a fork names another run and a question there, or its end; it names %.128q and %d",
			r.ForkedFrom.RunID, r.ForkedFrom.Question)
	case r.ForkedFrom != nil && (r.ForkedFrom.AsksAgain < 0 || r.ForkedFrom.AsksAgain > interaction.MaxQuestions):
		return invalid(r, "a fork asks 0 to %d questions again, not %d", interaction.MaxQuestions,
			r.ForkedFrom.AsksAgain)
	case r.ID == "" || r.Version == 0 || r.Pool == "" || r.CreatedAt.IsZero() || r.UpdatedAt.IsZero():
		return invalid(r, "id, version, pool, created_at and updated_at must be set")
	case (r.Pending != nil) != waiting:
		return invalid(r, "a pending question belongs to waiting_user alone; it is %s", r.State)
	case !r.Deadline.IsZero() && !waiting:
		return invalid(r, "a deadline belongs to waiting_user alone; it is %s", r.State)
	case running && (!r.Slot || r.Owner == "" || r.Epoch == 0 || r.Attempt == 0):
		return invalid(r, "a running run has slot, owner, epoch and attempt")
	case r.Slot && r.Owner == "":
		return invalid(r, "a slot needs an owner")
	case r.State.Terminal() && (r.Slot || r.Owner != "" || r.FinishedAt.IsZero()):
		return invalid(r, "a finished run has finished_at, and neither slot nor owner")
	case !r.State.Terminal() && !r.FinishedAt.IsZero():
		return invalid(r, "finished_at belongs to finished runs; it is %s", r.State)
	case r.State == fsm.StateQueued && r.QueuedAt.IsZero():
		return invalid(r, "a queued run has queued_at")
	}
	if err := r.checkOpen(); err != nil {
		return err
	}
	if r.Block != nil && !storable(r.Block.Until) {
		return invalid(r, "times are UTC in microseconds, not %s", r.Block.Until)
	}
	for _, t := range []time.Time{r.NotBefore, r.CreatedAt, r.UpdatedAt, r.QueuedAt, r.Deadline, r.LastAutoDecisionAt,
		r.RecoveredAt, r.FinishedAt} {
		if !storable(t) {
			return invalid(r, "times are UTC in microseconds, not %s", t)
		}
	}
	switch r.State {
	case fsm.StateQueued, fsm.StateRunning, fsm.StateWaitingUser, fsm.StateSucceeded, fsm.StateFailed,
		fsm.StateCanceled:
		return nil
	}
	return invalid(r, "state %q is not of the contract", r.State)
}

// maxChoices bounds the choices of a held run.
const maxChoices = 8

// fits reports whether the run may have the block.
func (b *Block) fits(r *Run) bool {
	queued := r.State == fsm.StateQueued
	switch {
	case r.Slot || b.Kind != BlockChildren && (b.Children != nil || b.Any):
		return false
	case b.Kind == BlockChildren:
		return queued && r.Family != nil && b.Choices == nil && b.Code == "" && len(b.Children) > 0 &&
			len(b.Children) <= MaxChildren
	case b.Kind == BlockRetry:
		return queued && b.Until.Equal(r.NotBefore) && b.Choices == nil
	case b.Kind == BlockSleep:
		return queued && b.Until.Equal(r.NotBefore) && b.Choices == nil && b.Code == ""
	case b.Kind == BlockHeld:
		return (queued || r.State == fsm.StateWaitingUser && b.Until.IsZero()) && len(b.Choices) > 0 &&
			len(b.Choices) <= maxChoices
	}
	return false
}

func invalid(r *Run, format string, args ...any) error {
	return fmt.Errorf("%w: run %.128s: %s", ErrInvalid, r.ID, fmt.Sprintf(format, args...))
}

// Check returns an error that matches ErrInvalid if the request cannot be served.
func (q ClaimRequest) Check() error {
	if q.Node == "" || q.Max < 1 || q.Max > MaxBatch || q.Start == nil {
		return fmt.Errorf("%w: a claim needs a node, Max from 1 to %d (is %d) and Start", ErrInvalid, MaxBatch, q.Max)
	}
	if q.Suspects && q.Engines == nil {
		return fmt.Errorf("%w: a claim of suspects needs Engines", ErrInvalid)
	}
	return checkEngines(q.Engines)
}

// CheckLimit returns an error that matches ErrInvalid unless a call may have this limit.
func CheckLimit(limit int) error {
	if limit < 1 {
		return fmt.Errorf("%w: limit is %d, want at least 1", ErrInvalid, limit)
	}
	return nil
}

// CheckSkip returns an error that matches ErrInvalid unless a call may have this skip and this
// limit.
func CheckSkip(skip, limit int) error {
	if skip < 0 {
		return fmt.Errorf("%w: skip is %d, want at least 0", ErrInvalid, skip)
	}
	return CheckLimit(limit)
}

// Claim returns the record as it is given to Start: with slot, owner and the next epoch. It claims
// nothing by itself.
func (r Run) Claim(node string) Run {
	r.Slot, r.Owner = true, node
	r.Epoch++
	return r
}

// CheckClaim returns an error that matches ErrInvalid if the commit that Start made of the given
// record may not be stored. Prev is the stored record.
func (c *Commit) CheckClaim(given, prev *Run) error {
	if c.Run.Owner != given.Owner && !c.Run.State.Terminal() || c.Run.Epoch != given.Epoch || c.Expect != prev.Version {
		return invalid(prev, "Start changed owner, epoch or version")
	}
	return c.Check(prev, true)
}

// The years that RFC 3339 has, in Unix time.
var (
	firstYear     = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	afterLastYear = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
)

// storable reports whether a store keeps the time as it is: in UTC, without nanoseconds, and with a
// year that RFC 3339 has.
func storable(t time.Time) bool {
	at := t.Unix()
	return t.Location() == time.UTC && t.Nanosecond()%1000 == 0 && at >= firstYear && at < afterLastYear
}
