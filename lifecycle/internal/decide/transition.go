package decide

import (
	"errors"
	"slices"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// transition looks up the contract's row for the event in the run's state with these facts. It
// returns the commit with the new record and the row's events. The error is a *fsm.Refusal if the
// contract has no row. If the run would start another turn with a used-up budget, the commit also
// holds the run. A run that waits for children is held later, by Continue.
func transition(run *store.Run, event fsm.Event, e *effects) (*store.Commit, error) {
	row, err := fsm.Next(run.State, event, factsOf(run, e))
	if err != nil {
		return nil, err
	}
	c := nextVersion(run, e.now)
	c.Settled = e.settles.records
	next := &c.Run
	now := next.UpdatedAt
	next.State = row.To
	next.Block = nil // unless a function below sets it
	recordTurnEnd(next, &e.turn)
	recordRecovery(next, &e.ends, now)
	if e.settles.vote {
		next.Votes++
	}
	if e.settles.remembers != nil || e.settles.refused != "" {
		changeMemory(next, &e.settles, now)
	}
	switch {
	case e.edits.question != nil: // also for a vote, which is stored in its question
		changeQuestion(next, run, e.edits.question, event == fsm.EventInteractionNoted)
	case row.Event == fsm.EventInteractionRecorded:
		recordAnswer(next, run, &e.settles.answers[0], now)
	case row.To == run.State:
		changeHold(next, &e.hold, now)
	default:
		enterState(next, run, &row, e, now)
	}
	e.from, e.event = run.State, row.Event
	err = addTransitionEvents(c, row.Emits, e)
	if err == nil && next.State == fsm.StateQueued && !next.Held() && !next.AwaitsChildren() && next.Budget.Spent() {
		err = holdForBudget(c)
	}
	return c, err
}

// enterState sets the consequences of the new state, so that state, slot, question and deadline
// always agree.
func enterState(next, prev *store.Run, row *fsm.Transition, e *effects, now time.Time) {
	if row.Slot == fsm.SlotRelease {
		next.Slot = false
	}
	next.Open, next.Deadline = nil, time.Time{} // unless openQuestions sets them
	setFamilyDue(next, time.Time{})             // unless recordYield or endRun sets it
	switch row.To {
	case fsm.StateQueued:
		enterQueue(next, row.Event, e, now)
		if prev.Held() {
			keepHold(next, prev.Block, now)
		}
	case fsm.StateRunning:
		next.Attempt++
		next.LocalSeq = 0
		next.Budget = countTurn(next.Budget, 1)
	case fsm.StateWaitingUser:
		next.Owner = e.asks.node
		next.Answers = nil
		resetRepeats(next)
		openQuestions(next, &e.asks, now)
	default:
		endRun(next, row, e, now)
	}
}

// enterQueue queues the run with the answer to its question, or to execute its turn again.
func enterQueue(next *store.Run, event fsm.Event, e *effects, now time.Time) {
	next.QueuedAt = now
	if !next.Slot {
		next.Owner = ""
	}
	recordYield(next, &e.yields, now)
	if e.lost.handedBack && next.MaxAttempts > 0 { // without a limit, the record keeps its plain form
		countYield(next)
	}
	if event == fsm.EventRestartRequeue && !e.lost.excused() {
		countRepeat(next, e.lost.nodeDied)
		next.NotBefore = now.Add(repeatBackoff(next.Repeats))
	}
	if answers := e.settles.answers; len(answers) > 0 {
		if next.Together == nil {
			next.Answers = answers
		}
		countAutoDecision(next, &answers[0], now)
	}
}

func endRun(next *store.Run, row *fsm.Transition, e *effects, now time.Time) {
	next.FinishedAt = now
	next.Slot, next.Owner, next.Answers, next.Together = false, "", nil, nil
	next.Losses, next.Remembered = 0, nil // so that all releases can read the record
	setFamilyDue(next, now)
	if f := e.turn.final; f != nil {
		next.FinalText = f.text
	}
	if row.To == fsm.StateSucceeded {
		next.Output = e.turn.output
		resetRepeats(next)
	} else {
		recordFailure(next, row, &e.ends)
	}
}

// holdForBudget adds a hold to a commit that queues a run with a used-up budget.
func holdForBudget(c *store.Commit) error {
	e := effects{from: c.Run.State}
	row, err := fsm.Next(c.Run.State, fsm.EventRunBlocked, factsOf(&c.Run, &e))
	if err != nil {
		return err
	}
	c.Run.Block = &store.Block{
		Kind: store.BlockHeld, Code: fsm.CodeBudgetExhausted, Reason: spentReason(c.Run.Budget),
		Choices: slices.Clone(budgetChoices),
	}
	e.event = row.Event
	return addTransitionEvents(c, row.Emits, &e)
}

func Refused(err error) bool {
	var refusal *fsm.Refusal
	return errors.As(err, &refusal)
}
