package store

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// broken returns an error that matches ErrInvalid if rule is not empty.
func broken(r *Run, rule string) error {
	if rule == "" {
		return nil
	}
	return invalid(r, "%s", rule)
}

// differs describes a broken rule about a number.
func differs(rule string, have, want uint64) string {
	return fmt.Sprintf("%s; it is %d, want %d", rule, have, want)
}

func invalid(r *Run, format string, args ...any) error {
	return fmt.Errorf("%w: run %.128s in state %.16s: %s", ErrInvalid, r.ID, r.State, fmt.Sprintf(format, args...))
}

var (
	textOfBlock = "a block is a retry or a sleep, of a queued run and until its not_before, or of a queued run that " +
		"waits for 1 to " + strconv.Itoa(MaxChildren) + " children, or a hold with 1 to " + strconv.Itoa(maxChoices) +
		" choices, of a queued or waiting run; the run has no slot"
	textOfFamily = "a family has up to " + strconv.Itoa(MaxDepth) + " ancestors and " + strconv.Itoa(MaxChildren) +
		" children, is due in a run that is queued or has ended, and is kept in one that has ended, when nothing is due"
	textOfMemory = "a run that has not ended remembers up to " + strconv.Itoa(interaction.MaxMemories) + " decisions " +
		"about its questions, by their numbers, each with tool, person and an end"
	textOfFork = "a fork names another run and a question there, or its end, and asks up to " +
		strconv.Itoa(interaction.MaxQuestions) + " questions again"
)

// brokenRule returns the text of the first consistency rule that the record breaks, or "".
// validateOpen checks the open questions.
func (r *Run) brokenRule() string {
	waiting, running, queued := r.State == fsm.StateWaitingUser, r.State == fsm.StateRunning, r.State == fsm.StateQueued
	ended := r.State.Terminal()
	switch {
	case r.Reported < 0 || r.Repeats < 0 || r.Losses < 0 || r.Losses > r.Repeats || r.MaxRepeats < 0 ||
		r.Yielded < 0 || r.Yielded > r.Attempt:
		return "repeats and max_repeats are at least 0, losses from 0 to repeats, and yielded from 0 to attempt"
	case r.Holds < 0 || r.Holds > r.Yielded:
		return "holds are from 0 to yielded"
	case r.Journal != nil && (r.Journal.Entries < 1 || r.Journal.Bytes < int64(r.Journal.Entries)):
		return "a journal that is counted has entries and bytes"
	case r.Budget != nil && !r.Budget.fits(r.Attempt):
		return "a budget has a limit, and its used turns are at most the attempts"
	case r.Block != nil && !r.Block.fits(r):
		return textOfBlock
	case r.Family != nil && !r.Family.fits(r):
		return textOfFamily
	case r.ForkedFrom != nil && !r.ForkedFrom.fits(r):
		return textOfFork
	case r.ID == "" || r.Version == 0 || r.Pool == "" || r.CreatedAt.IsZero() || r.UpdatedAt.IsZero():
		return "id, version, pool, created_at and updated_at must be set"
	case !queued && !running && !waiting && !ended:
		return "the contract has no such state"
	case (len(r.Open) > 0) != waiting:
		return "exactly a run in waiting_user has a pending question"
	case len(r.Answers) > 1:
		return "a record has the answer to a single question"
	case !r.Deadline.IsZero() && !waiting:
		return "a deadline belongs to waiting_user only"
	case running && (!r.Slot || r.Owner == "" || r.Epoch == 0 || r.Attempt == 0):
		return "a running run has slot, owner, epoch and attempt"
	case r.Slot && r.Owner == "":
		return "a slot needs an owner"
	case ended && (r.Slot || r.Owner != "" || r.FinishedAt.IsZero()):
		return "a finished run has finished_at, and neither slot nor owner"
	case !ended && !r.FinishedAt.IsZero():
		return "finished_at belongs to finished runs"
	case queued && r.QueuedAt.IsZero():
		return "a queued run has queued_at"
	case len(r.Remembered) > 0 && !r.remembersWell():
		return textOfMemory
	case !r.storableTimes():
		return "times are UTC in microseconds, with a year of RFC 3339"
	default:
		return ""
	}
}

func (r *Run) storableTimes() bool {
	return (r.Block == nil || storable(r.Block.Until)) && storable(r.NotBefore) && storable(r.CreatedAt) &&
		storable(r.UpdatedAt) && storable(r.QueuedAt) && storable(r.Deadline) && storable(r.LastAutoDecisionAt) &&
		storable(r.RecoveredAt) && storable(r.FinishedAt) &&
		!slices.ContainsFunc(r.Remembered, func(m interaction.Memory) bool {
			return !storable(m.At) || !storable(m.Until)
		})
}

func (r *Run) remembersWell() bool {
	last := 0
	for i := range r.Remembered {
		m := &r.Remembered[i]
		if m.ID <= last || m.ID > r.Interactions || m.Tool == "" || m.Actor == "" || !m.Until.After(m.At) ||
			m.To.Validate() != nil {
			return false
		}
		last = m.ID
	}
	return !r.State.Terminal() && len(r.Remembered) <= interaction.MaxMemories
}

func (f *ForkPoint) fits(r *Run) bool {
	return f.RunID != "" && f.RunID != r.ID && f.Question >= 0 && f.AsksAgain >= 0 &&
		f.AsksAgain <= interaction.MaxQuestions
}

// brokenRule returns the first broken rule of the rules that do not depend on the stored record, or "".
func (c *Commit) brokenRule() string {
	switch {
	case c.Run.Version != c.Expect+1:
		return differs("the version follows the expected one", c.Run.Version, c.Expect+1)
	case c.Expect > 0 && c.Spec != nil:
		return "the spec cannot be changed"
	case c.Run.Seq < uint64(len(c.Events)):
		return differs("seq is at least the number of events", c.Run.Seq, uint64(len(c.Events)))
	default:
		return ""
	}
}

func (c *Commit) brokenRuleOfCreation() string {
	r, events := &c.Run, uint64(len(c.Events))
	answered := len(r.Answers) > 0 || r.Together != nil
	switch {
	case len(c.Spec) == 0 || c.Fence != nil || len(c.Settled) > 0 || c.Usage != nil:
		return "a commit that creates a run has a spec, no fence and no usage, and settles nothing"
	case len(c.Journal) > 0 || r.Journal != nil:
		return "a new run has no journal"
	case answered && r.ForkedFrom == nil:
		return "only a fork begins with an answer"
	case answered && r.AsksAgain():
		return "a fork that asks again begins without an answer"
	case r.State != fsm.StateQueued || r.Slot || r.Attempt != 0 || r.Epoch != 0 || r.Seq != events:
		return "a new run is queued, without slot, attempt or epoch, and its events begin at 1"
	default:
		return ""
	}
}

// brokenRuleOfChange returns the first broken rule for a commit after the previous record, or "". The
// rules of usage, budget, journal and questions are in methods of Commit.
func (c *Commit) brokenRuleOfChange(prev *Run, claim bool) string {
	r, events := &c.Run, uint64(len(c.Events))
	moves, starts := r.State != prev.State, r.State != prev.State && r.State == fsm.StateRunning
	requeued := prev.State == fsm.StateRunning && r.State == fsm.StateQueued
	asksAgain := prev.State == fsm.StateRunning && r.State == fsm.StateWaitingUser && prev.AsksAgain()
	attempt := prev.Attempt
	if starts {
		attempt++
	}
	switch {
	case prev.State.Terminal():
		return "a run that has ended does not change"
	case r.Seq != prev.Seq+events:
		return differs("seq grows by the number of events", r.Seq, prev.Seq+events)
	case moves && !hasTransition(prev.State, r.State):
		return "no transition leads to this state"
	case moves && events == 0:
		return "a transition has an event"
	case claim && (prev.Held() || prev.AwaitsChildren()):
		return "a run that is held, or waits for other runs, cannot be claimed"
	case claim && !moves:
		return "a claim starts the run or ends it"
	case r.Attempt != attempt:
		return differs("a start adds one attempt, and nothing else does", uint64(r.Attempt), uint64(attempt))
	case r.Slot && !prev.Slot && !claim:
		return "only a claim gives a slot"
	case r.Epoch != prev.Epoch && !claim:
		return "only a claim gives an epoch"
	case r.Yielded != prev.Yielded && (r.Yielded != prev.Yielded+1 || !requeued && !asksAgain):
		return "yielded grows by one when a turn goes back to the queue or a fork asks again"
	case r.Interactions < prev.Interactions || r.UpdatedAt.Before(prev.UpdatedAt):
		return "interactions and updated_at do not go back"
	case !sameSubmission(prev, r):
		return "the submitted specification cannot change"
	case !r.NotBefore.Equal(prev.NotBefore) && (!requeued || r.NotBefore.Before(prev.NotBefore)):
		return "not_before moves only when a turn goes back to the queue, and only later"
	default:
		return ""
	}
}
