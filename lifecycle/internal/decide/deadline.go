package decide

import (
	"errors"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// Deadline executes a due deadline: the end of a queued run's hold, after which it is retried; or one
// step or end of the open questions' waits, so that people see all in order, including those due
// while no process ran. Questions without their own waits end together. The error may also report
// an inconsistent record.
func Deadline(run *store.Run, now time.Time) (*store.Commit, error) {
	switch {
	case run.State == fsm.StateQueued && run.Held():
		return unblockRun(run, causeDue, interaction.Actor{}, now)
	case len(run.Open) == 0:
		return nil, errors.New("lifecycle: run has a deadline and no question")
	}
	own := run.Open[0].Wait != nil
	at, q, ending := run.Deadline, &run.Open[0], run.Open
	if own {
		if at, q = run.NextDue(); q == nil {
			return nil, errors.New("lifecycle: run has a deadline, and its questions have no step and no end")
		}
		ending = []interaction.Question{*q}
	}
	e := effects{now: Later(now, run.UpdatedAt), facts: fsm.FactPendingMatches}
	e.facts |= factIf(own, fsm.FactOwnWait) | factIf(!at.After(now), fsm.FactDeadlinePassed)
	if own && q.StepDue() {
		next := q.Fire()
		e.edits.question = &next
		return transition(run, fsm.EventInteractionStep, &e)
	}
	then := run.WaitOf(q).Then
	e.facts |= factIf(then == interaction.ThenFail, fsm.FactWaitFails) |
		factIf(then == interaction.ThenDecide, fsm.FactWaitDecides)
	switch {
	case then == interaction.ThenDefault:
		return settleAtEnd(run, ending, (*interaction.Question).TakeDefault, fsm.EventInteractionDefaultTimeout, &e)
	case then == interaction.ThenDecide && factsOf(run, &e).Has(fsm.FactAutoDecisionLeft):
		return settleAtEnd(run, ending, decideAtEnd, fsm.EventInteractionAutoDecideTimeout, &e)
	}
	e.settles.records = abandoned(run, e.now)
	e.ends.message = "no one replied within " + run.SessionTimeout.String()
	if own {
		e.ends.message = fmt.Sprintf("no one replied to question %d within %s", q.ID, q.EndsAt.Sub(q.AskedAt))
	}
	return transition(run, fsm.EventInteractionWaitTimeout, &e)
}

func decideAtEnd(q *interaction.Question, now time.Time) interaction.Answer {
	answer := interaction.NewAutoDecision(*q).Answer(now)
	answer.Ref = q.Ref
	return answer
}

// settleAtEnd settles questions at the end of their waits. The answers do not count towards the rule
// of several questions, since no person gave them: the run continues if no other is open.
func settleAtEnd(run *store.Run, ending []interaction.Question,
	answer func(q *interaction.Question, now time.Time) interaction.Answer, event fsm.Event, e *effects,
) (*store.Commit, error) {
	e.settles.answers = make([]interaction.Answer, len(ending))
	e.settles.records = make([]interaction.Record, len(ending))
	for i := range ending {
		q := &ending[i]
		e.settles.answers[i] = answer(q, e.now)
		e.settles.records[i] = settledBy(run, q, e.settles.answers[i])
	}
	if len(run.Open) > len(ending) {
		return transition(run, fsm.EventInteractionRecorded, e)
	}
	e.facts |= fsm.FactRuleMet
	return transition(run, event, e)
}
