package store

import (
	"fmt"
	"strconv"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// rule is a condition on a record or a commit. Rules are values rather than functions: calling
// functions from a list makes their argument escape, and each check would allocate a run.
type rule struct {
	name       string
	broken     bool
	text       string // the condition in words
	have, want uint64 // the wrong number and the right one; shown if they differ
}

// firstBroken returns an error that matches ErrInvalid, with the text of the first broken rule.
func firstBroken(r *Run, rules []rule) error {
	for i := range rules {
		if !rules[i].broken {
			continue
		}
		if rules[i].have != rules[i].want {
			return invalid(r, "%s; it is %d, want %d", rules[i].text, rules[i].have, rules[i].want)
		}
		return invalid(r, "%s", rules[i].text)
	}
	return nil
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
	textOfFork = "a fork names another run and a question there, or its end, and asks up to " +
		strconv.Itoa(interaction.MaxQuestions) + " questions again"
)

// rules are a record's consistency rules. validateOpen checks its open questions, strangeTime its
// times.
func (r *Run) rules() [18]rule {
	waiting, running, queued := r.State == fsm.StateWaitingUser, r.State == fsm.StateRunning, r.State == fsm.StateQueued
	ended := r.State.Terminal()
	return [...]rule{
		{name: "counters",
			text: "repeats and max_repeats are at least 0, losses from 0 to repeats, and yielded from 0 to attempt",
			broken: r.Reported < 0 || r.Repeats < 0 || r.Losses < 0 || r.Losses > r.Repeats || r.MaxRepeats < 0 ||
				r.Yielded < 0 || r.Yielded > r.Attempt},
		{name: "holds", text: "holds are from 0 to yielded",
			broken: r.Holds < 0 || r.Holds > r.Yielded},
		{name: "journal", text: "a journal that is counted has entries and bytes",
			broken: r.Journal != nil && (r.Journal.Entries < 1 || r.Journal.Bytes < int64(r.Journal.Entries))},
		{name: "budget", text: "a budget has a limit, and its used turns are at most the attempts",
			broken: r.Budget != nil && !r.Budget.fits(r.Attempt)},
		{name: "block", text: textOfBlock,
			broken: r.Block != nil && !r.Block.fits(r)},
		{name: "family", text: textOfFamily,
			broken: r.Family != nil && !r.Family.fits(r)},
		{name: "fork", text: textOfFork,
			broken: r.ForkedFrom != nil && !r.ForkedFrom.fits(r)},
		{name: "required", text: "id, version, pool, created_at and updated_at must be set",
			broken: r.ID == "" || r.Version == 0 || r.Pool == "" || r.CreatedAt.IsZero() || r.UpdatedAt.IsZero()},
		{name: "state", text: "the contract has no such state",
			broken: !queued && !running && !waiting && !ended},
		{name: "pending", text: "exactly a run in waiting_user has a pending question",
			broken: (len(r.Open) > 0) != waiting},
		{name: "answer", text: "a record has the answer to a single question",
			broken: len(r.Answers) > 1},
		{name: "deadline", text: "a deadline belongs to waiting_user only",
			broken: !r.Deadline.IsZero() && !waiting},
		{name: "running", text: "a running run has slot, owner, epoch and attempt",
			broken: running && (!r.Slot || r.Owner == "" || r.Epoch == 0 || r.Attempt == 0)},
		{name: "slot", text: "a slot needs an owner",
			broken: r.Slot && r.Owner == ""},
		{name: "finished", text: "a finished run has finished_at, and neither slot nor owner",
			broken: ended && (r.Slot || r.Owner != "" || r.FinishedAt.IsZero())},
		{name: "finished_at", text: "finished_at belongs to finished runs",
			broken: !ended && !r.FinishedAt.IsZero()},
		{name: "queued_at", text: "a queued run has queued_at",
			broken: queued && r.QueuedAt.IsZero()},
		{name: "times", text: "times are UTC in microseconds, with a year of RFC 3339",
			broken: !r.storableTimes()},
	}
}

func (r *Run) storableTimes() bool {
	return (r.Block == nil || storable(r.Block.Until)) && storable(r.NotBefore) && storable(r.CreatedAt) &&
		storable(r.UpdatedAt) && storable(r.QueuedAt) && storable(r.Deadline) && storable(r.LastAutoDecisionAt) &&
		storable(r.RecoveredAt) && storable(r.FinishedAt)
}

func (f *ForkPoint) fits(r *Run) bool {
	return f.RunID != "" && f.RunID != r.ID && f.Question >= 0 && f.AsksAgain >= 0 &&
		f.AsksAgain <= interaction.MaxQuestions
}

// rules are the conditions on every commit, whatever the stored record.
func (c *Commit) rules() [3]rule {
	return [...]rule{
		{name: "version", text: "the version follows the expected one", have: c.Run.Version, want: c.Expect + 1,
			broken: c.Run.Version != c.Expect+1},
		{name: "spec", text: "the spec cannot be changed",
			broken: c.Expect > 0 && c.Spec != nil},
		{name: "events", text: "seq is at least the number of events", have: c.Run.Seq, want: uint64(len(c.Events)),
			broken: c.Run.Seq < uint64(len(c.Events))},
	}
}

func (c *Commit) createRules() [5]rule {
	r, events := &c.Run, uint64(len(c.Events))
	answered := len(r.Answers) > 0 || r.Together != nil
	return [...]rule{
		{name: "creation", text: "a commit that creates a run has a spec, no fence and no usage, and settles nothing",
			broken: len(c.Spec) == 0 || c.Fence != nil || len(c.Settled) > 0 || c.Usage != nil},
		{name: "journal", text: "a new run has no journal",
			broken: len(c.Journal) > 0 || r.Journal != nil},
		{name: "answer", text: "only a fork begins with an answer",
			broken: answered && r.ForkedFrom == nil},
		{name: "fork", text: "a fork that asks again begins without an answer",
			broken: answered && r.AsksAgain()},
		{name: "state", text: "a new run is queued, without slot, attempt or epoch, and its events begin at 1",
			broken: r.State != fsm.StateQueued || r.Slot || r.Attempt != 0 || r.Epoch != 0 || r.Seq != events},
	}
}

// nextRules say when the commit does not follow from the previous record. Some do not apply to a
// claim. The rules of usage, budget, journal and questions are in methods of Commit.
func (c *Commit) nextRules(prev *Run, claim bool) [13]rule {
	r, events := &c.Run, uint64(len(c.Events))
	moves, starts := r.State != prev.State, r.State != prev.State && r.State == fsm.StateRunning
	requeued := prev.State == fsm.StateRunning && r.State == fsm.StateQueued
	asksAgain := prev.State == fsm.StateRunning && r.State == fsm.StateWaitingUser && prev.AsksAgain()
	attempt := prev.Attempt
	if starts {
		attempt++
	}
	return [...]rule{
		{name: "terminal", text: "a run that has ended does not change",
			broken: prev.State.Terminal()},
		{name: "seq", text: "seq grows by the number of events", have: r.Seq, want: prev.Seq + events,
			broken: r.Seq != prev.Seq+events},
		{name: "transition", text: "no transition leads to this state",
			broken: moves && !hasTransition(prev.State, r.State)},
		{name: "event", text: "a transition has an event",
			broken: moves && events == 0},
		{name: "claimable", text: "a run that is held, or waits for other runs, cannot be claimed",
			broken: claim && (prev.Held() || prev.AwaitsChildren())},
		{name: "claim", text: "a claim starts the run or ends it",
			broken: claim && !moves},
		{name: "attempt", text: "a start adds one attempt, and nothing else does",
			have: uint64(r.Attempt), want: uint64(attempt),
			broken: r.Attempt != attempt},
		{name: "slot", text: "only a claim gives a slot",
			broken: r.Slot && !prev.Slot && !claim},
		{name: "epoch", text: "only a claim gives an epoch",
			broken: r.Epoch != prev.Epoch && !claim},
		{name: "yielded", text: "yielded grows by one when a turn goes back to the queue or a fork asks again",
			broken: r.Yielded != prev.Yielded && (r.Yielded != prev.Yielded+1 || !requeued && !asksAgain)},
		{name: "monotone", text: "interactions and updated_at do not go back",
			broken: r.Interactions < prev.Interactions || r.UpdatedAt.Before(prev.UpdatedAt)},
		{name: "submission", text: "the submitted specification cannot change",
			broken: !sameSubmission(prev, r)},
		{name: "not_before", text: "not_before moves only when a turn goes back to the queue, and only later",
			broken: !r.NotBefore.Equal(prev.NotBefore) && (!requeued || r.NotBefore.Before(prev.NotBefore))},
	}
}
