package decide

import (
	"errors"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// Deadline executes a due deadline: the end of a queued run's hold, after which it is retried; one
// step or end of the open questions' waits; or the session timeout. The error may also report an
// inconsistent record.
func Deadline(run *store.Run, now time.Time) (*store.Commit, error) {
	switch {
	case run.State == fsm.StateQueued && run.Held():
		return unblockRun(run, causeDue, interaction.Actor{}, now)
	case len(run.Open) == 0:
		return nil, errors.New("lifecycle: run has a deadline and no question")
	case run.Open[0].Wait != nil:
		return fireWait(run, now)
	}
	return fireSessionTimeout(run, now)
}

// fireSessionTimeout decides all open questions automatically, or fails the run.
func fireSessionTimeout(run *store.Run, now time.Time) (*store.Commit, error) {
	e := effects{now: Later(now, run.UpdatedAt), facts: fsm.FactPendingMatches}
	e.facts |= factIf(!run.Deadline.After(now), fsm.FactDeadlinePassed)
	rule, _ := fsm.Wait(run.Profile, run.Strict)
	if rule.OnDeadline == fsm.DeadlineAutoDecide && factsOf(run, &e).Has(fsm.FactAutoDecisionLeft) {
		e.facts |= fsm.FactRuleMet // no question is open afterwards
		e.settles.autoDecide(run, e.now)
		return transition(run, fsm.EventInteractionAutoDecideTimeout, &e)
	}
	e.settles.records = abandoned(run, e.now)
	e.ends.message = "no one replied within " + run.SessionTimeout.String()
	return transition(run, fsm.EventInteractionWaitTimeout, &e)
}

func (s *settlement) autoDecide(run *store.Run, now time.Time) {
	s.answers = make([]interaction.Answer, len(run.Open))
	s.records = make([]interaction.Record, len(run.Open))
	for i := range run.Open {
		q := &run.Open[i]
		s.answers[i] = interaction.NewAutoDecision(*q).Answer(now)
		s.answers[i].Ref = q.Ref
		s.records[i] = settledBy(run, q, s.answers[i])
	}
}

// fireWait executes one step or one end per commit, so that people see all in order, including
// those due while no process ran.
func fireWait(run *store.Run, now time.Time) (*store.Commit, error) {
	at, q := run.NextDue()
	if q == nil {
		return nil, errors.New("lifecycle: run has a deadline, and its questions have no step and no end")
	}
	e := effects{now: Later(now, run.UpdatedAt), facts: fsm.FactPendingMatches | fsm.FactOwnWait}
	e.facts |= factIf(!at.After(now), fsm.FactDeadlinePassed)
	if q.StepDue() {
		next := q.Fire()
		e.edits.question = &next
		return transition(run, fsm.EventInteractionStep, &e)
	}
	switch {
	case q.Wait.Then == interaction.ThenDefault:
		answer := q.TakeDefault(e.now)
		return settleAtEnd(run, q, answer, fsm.EventInteractionDefaultTimeout, &e)
	case q.Wait.Then == interaction.ThenDecide && factsOf(run, &e).Has(fsm.FactAutoDecisionLeft):
		answer := interaction.NewAutoDecision(*q).Answer(e.now)
		return settleAtEnd(run, q, answer, fsm.EventInteractionAutoDecideTimeout, &e)
	}
	e.facts |= factIf(q.Wait.Then == interaction.ThenFail, fsm.FactStrict)
	e.settles.records = abandoned(run, e.now)
	e.ends.message = fmt.Sprintf("no one replied to question %d within %s", q.ID, q.EndsAt.Sub(q.AskedAt))
	return transition(run, fsm.EventInteractionWaitTimeout, &e)
}

// settleAtEnd settles one question at the end of its wait. The answer does not count towards the
// rule of several questions, since no person gave it: the run continues if no other is open.
func settleAtEnd(run *store.Run, q *interaction.Question, answer interaction.Answer, event fsm.Event, e *effects,
) (*store.Commit, error) {
	e.settles = settlement{
		answers: []interaction.Answer{answer}, records: []interaction.Record{settledBy(run, q, answer)},
	}
	if len(run.Open) > 1 {
		return transition(run, fsm.EventInteractionRecorded, e)
	}
	e.facts |= fsm.FactRuleMet
	return transition(run, event, e)
}
