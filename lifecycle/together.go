package lifecycle

import (
	"slices"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// This file decides what concerns several questions that one turn has asked together (K1, K2): when
// the run goes on, and what becomes of the questions that are open then. They have one deadline,
// unless they have waits of their own (steps.go), and their turn is one round and one attempt.

// completesRule reports whether the run goes on with this reply to one of its open questions.
func completesRule(run *store.Run, answer *interaction.Answer) bool {
	return run.Together.Met(run.Together.Replies+1, len(run.Siblings), answer.Decision == interaction.Reject)
}

// closeSiblings closes the questions that are open beside the one that the details settle: the run
// goes on without answers to them.
func (d *details) closeSiblings(run *store.Run, now time.Time) {
	if len(run.Siblings) == 0 {
		return
	}
	answered := d.settled[0].Question.ID
	for _, q := range run.OpenQuestions() {
		if q.ID != answered {
			record := interaction.Supersede(q, now)
			keepForkPoint(&record, run)
			d.settled = append(d.settled, record)
		}
	}
	slices.SortFunc(d.settled, func(a, b interaction.Record) int { return a.Question.ID - b.Question.ID })
}

// autoDecideOpenQuestions adds to the details the automatic decisions that settle all open
// questions.
func autoDecideOpenQuestions(run *store.Run, d *details) {
	d.facts |= fsm.FactRuleMet // no question is open afterwards
	answer := interaction.NewAutoDecision(*run.Pending).Answer(d.now)
	answer.Ref = run.Pending.Ref
	d.answer, d.settled = &answer, settledBy(run, run.Pending, answer, "", "")
	for i := range run.Siblings {
		q := &run.Siblings[i]
		further := interaction.NewAutoDecision(*q).Answer(d.now)
		further.Ref = q.Ref
		d.furtherAnswers = append(d.furtherAnswers, further)
		d.settled = append(d.settled, settledBy(run, q, further, "", "")...)
	}
}

// recordReply notes the reply to one of several questions in the record of a run that continues to
// wait. A hold of the run stays.
func recordReply(next, prev *store.Run, d *details, now time.Time) {
	together := *prev.Together
	if d.answer.Resolution == interaction.UserReply {
		together.Replies++
	}
	next.Together, next.Block = &together, prev.Block
	next.CloseQuestion(d.answer.ID)
	countAutoDecision(next, d.answer, now)
	setDeadline(next)
}

// openQuestions makes the turn's questions the run's open ones. They have consecutive numbers and
// one deadline, that of the waiting policy or the earliest of their own waits.
func openQuestions(next *store.Run, d *details, now time.Time) {
	if next.AsksAgain() { // the attempt does not count, since the engine was not called
		next.Yielded++
	}
	first := next.Interactions + 1
	number := func(q interaction.Question) interaction.Question {
		next.Interactions++
		q.ID, q.Attempt, q.AskedAt = next.Interactions, next.Attempt, now
		return q
	}
	q := number(*d.question)
	next.Pending, next.Siblings, next.Together = &q, nil, nil
	if len(d.siblings) > 0 {
		next.Siblings = make([]interaction.Question, 0, len(d.siblings))
		for _, q := range d.siblings {
			next.Siblings = append(next.Siblings, number(q))
		}
		next.Together = &store.Together{First: first, Asked: 1 + len(d.siblings), Rule: d.rule}
	}
	if startWaits(next) {
		setDeadline(next)
		return
	}
	if rule, ok := fsm.Wait(next.Profile, next.Strict); ok && rule.OnDeadline != fsm.DeadlineKeepWaiting {
		next.Deadline = now.Add(next.SessionTimeout)
	}
}
