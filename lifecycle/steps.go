package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// This file is about questions that have waits of their own (K7): what is done about a question
// that nobody answers, and when. The deadline of the run is the earliest step or end of its open
// questions. Each commit carries out one of them, so that people see each in its order, also those
// that fell due while no process was there.

// startWaits sets when the questions that were just asked end, and reports whether they have waits
// of their own. If only some have, the others get what the run's policy says.
func startWaits(next *store.Run) bool {
	own := next.Pending.Wait != nil
	for i := range next.Siblings {
		own = own || next.Siblings[i].Wait != nil
	}
	if !own {
		return false
	}
	start := func(q *interaction.Question) {
		if q.Wait == nil {
			q.Wait = policyWait(next)
		}
		q.StartWait()
	}
	start(next.Pending)
	for i := range next.Siblings {
		start(&next.Siblings[i])
	}
	return true
}

// policyWait is the run's policy in the form of a wait.
func policyWait(r *store.Run) *interaction.Wait {
	switch rule, _ := fsm.Wait(r.Profile, r.Strict); rule.OnDeadline {
	case fsm.DeadlineAutoDecide:
		return &interaction.Wait{End: r.SessionTimeout, Then: interaction.ThenDecide}
	case fsm.DeadlineFail:
		return &interaction.Wait{End: r.SessionTimeout, Then: interaction.ThenFail}
	}
	return &interaction.Wait{}
}

// setDeadline sets the deadline of a run whose questions have waits of their own: the time of the
// next step, or of the first end, of any of them.
func setDeadline(next *store.Run) {
	if next.Pending != nil && next.Pending.Wait != nil {
		next.Deadline, _ = next.NextDue()
	}
}

// decideOwnWait carries out the next step of the open questions, or the end of one of them.
func decideOwnWait(run *store.Run, now time.Time) (*store.Commit, error) {
	at, q := run.NextDue()
	if q == nil {
		return nil, errors.New("lifecycle: run has a deadline, and its questions have no step and no end")
	}
	d := details{now: notEarlier(now, run.UpdatedAt), facts: fsm.FactPendingMatches | fsm.FactOwnWait}
	d.facts |= factIf(!at.After(now), fsm.FactDeadlinePassed)
	if q.StepDue() {
		next := q.Fire()
		d.changed = &next
		return transition(run, fsm.EventInteractionStep, &d)
	}
	switch {
	case q.Wait.Then == interaction.ThenDefault:
		answer := q.TakeDefault(d.now)
		return settleAtEnd(run, q, answer, fsm.EventInteractionDefaultTimeout, &d)
	case q.Wait.Then == interaction.ThenDecide && factsOf(run, &d).Has(fsm.FactAutoDecisionLeft):
		answer := interaction.NewAutoDecision(*q).Answer(d.now)
		return settleAtEnd(run, q, answer, fsm.EventInteractionAutoDecideTimeout, &d)
	}
	d.facts |= factIf(q.Wait.Then == interaction.ThenFail, fsm.FactStrict)
	d.settled = abandoned(run, d.now)
	d.message = fmt.Sprintf("nobody replied to question %d within %s", q.ID, q.EndsAt.Sub(q.AskedAt))
	return transition(run, fsm.EventInteractionWaitTimeout, &d)
}

// settleAtEnd settles one question at the end of its own wait. The run goes on only if no other
// question is open. The answer does not count towards the rule, because no person gave it.
func settleAtEnd(run *store.Run, q *interaction.Question, answer interaction.Answer, event fsm.Event, d *details,
) (*store.Commit, error) {
	d.answer, d.settled = &answer, settledBy(run, q, answer, "", "")
	if len(run.Siblings) > 0 {
		return transition(run, fsm.EventInteractionRecorded, d)
	}
	d.facts |= fsm.FactRuleMet
	return transition(run, event, d)
}

// changeQuestion puts the changed question into the record of a run that continues to wait.
// A hold stays.
func changeQuestion(next, prev *store.Run, d *details) {
	next.Block = prev.Block
	next.ReplaceQuestion(*d.changed)
	setDeadline(next)
}

// countAutoDecision counts the answer if it is an automatic decision.
func countAutoDecision(next *store.Run, a *interaction.Answer, now time.Time) {
	if a.Resolution == interaction.AutoDecideTimeout {
		next.AutoDecisions++
		next.LastAutoDecisionAt = now
	}
}

// addStep adds the event of the step that was carried out, if this was its action.
func (d *details) addStep(c *store.Commit, action interaction.StepAction) error {
	q := d.changed
	s := &q.Wait.Steps[q.Fired-1]
	if s.Do != action {
		return nil
	}
	due := q.AskedAt.Add(s.After)
	if action == interaction.Remind {
		return addEvent(c, &fcmp.Reminder{InteractionID: q.ID, Step: int(q.Fired), DueAt: due})
	}
	return addEvent(c, &fcmp.Escalated{InteractionID: q.ID, Step: int(q.Fired), DueAt: due, To: audience(q.To)})
}

// addOwnWait adds to the event of a question what its own wait says.
func addOwnWait(asked *fcmp.InputRequired, q *interaction.Question) {
	asked.OnDeadline, asked.WaitDeadlineAt = string(cmp.Or(q.Wait.Then, interaction.ThenWait)), q.EndsAt
	asked.Wait = &fcmp.OwnWait{Steps: make([]fcmp.WaitStep, len(q.Wait.Steps))}
	for i, s := range q.Wait.Steps {
		asked.Wait.Steps[i] = fcmp.WaitStep{At: q.AskedAt.Add(s.After), Action: string(s.Do)}
	}
}

func defaultTaken(q *interaction.Question, a *interaction.Answer) *fcmp.DefaultTaken {
	return &fcmp.DefaultTaken{InteractionID: a.ID, ResolutionMode: string(a.Resolution), AcceptedAt: a.AcceptedAt,
		TimeoutSec: secondsOpen(q), Decision: string(a.Decision)}
}

// secondsOpen is the number of seconds between the asking of a question and its end.
func secondsOpen(q *interaction.Question) int { return seconds(q.EndsAt.Sub(q.AskedAt)) }

func audience(to *interaction.Audience) *fcmp.Audience {
	if to == nil {
		return nil
	}
	return &fcmp.Audience{Everybody: to.Everybody, Users: to.Users, Groups: to.Groups, Except: to.Except}
}

// MaxExtension is how far from now Extend may move the end of a question.
const MaxExtension = 366 * 24 * time.Hour

// Extend moves the end of an open question's own wait to a later time (K7). Its steps stay as they
// are. If the question is answered, its end acts, or somebody else moves it at the same time, one
// of them wins.
//
// Errors, with nothing written: ErrNotFound, ErrNotAllowed, ErrNotWaiting (a *WaitError: no such
// question), ErrSettled (a *SettledError: it was answered, or its end has acted), ErrRunChanged
// (somebody else has moved the end meanwhile), ErrTooMany (MaxChanges), an *ArgumentError (the
// question has no end of its own, or until is not later than that end and now, and at most
// MaxExtension from now). After any other error the end may or may not have been moved: read the
// question.
func (c *Client) Extend(ctx context.Context, id string, question int, until time.Time) error {
	if err := c.checkQuestionCall(ctx, id, question); err != nil {
		return err
	}
	if until.IsZero() {
		return &ArgumentError{"until", until.String(), "a time", nil}
	}
	if err := checkTime("until", until); err != nil {
		return err
	}
	until = until.UTC().Truncate(time.Microsecond)
	var end time.Time // as it was read first
	return c.changeOpenQuestion(ctx, ActionExtend, id, question, func(*Question, time.Time) (Action, error) {
		return ActionExtend, nil
	}, func(run *Run, q *Question, now time.Time) (*store.Commit, error) {
		switch {
		case q.EndsAt.IsZero():
			return nil, &ArgumentError{"question", strconv.Itoa(question), "one that has an end of its own", nil}
		case !end.IsZero() && !q.EndsAt.Equal(end):
			return nil, fmt.Errorf("%w: run %s: question %d ends at %s now", ErrRunChanged, id, question, q.EndsAt)
		case !until.After(q.EndsAt) || !until.After(now):
			return nil, &ArgumentError{"until", until.String(), "a time after now and after " + q.EndsAt.String(), nil}
		case until.After(now.Add(MaxExtension)):
			return nil, &ArgumentError{"until", until.String(), "at most " + MaxExtension.String() + " from now", nil}
		}
		end = q.EndsAt
		return decideExtend(run, q, until, c.actor, now)
	})
}

// openQuestion reads the run and its open question of that number. If the question is not open, the
// first error is the refusal, the same as that of Reply. A refusal is based on a durable read (J8).
// The second error says that the store could not be read.
func (c *Client) openQuestion(ctx context.Context, id string, question int) (*Run, *Question, error, error) {
	run, err := c.store.Run(ctx, id)
	if err != nil {
		return nil, nil, nil, err
	}
	if q := run.OpenQuestion(question); q != nil {
		return &run, q, nil, nil
	}
	var status replyStatus
	err = c.store.Confirm(ctx, func(r store.Reader) error {
		if run, err = r.Run(ctx, id); err != nil {
			return err
		}
		if q := run.OpenQuestion(question); q != nil {
			status = replyStatus{question: q}
			return nil
		}
		status, err = refusedReply(ctx, r, &run, question)
		return err
	})
	return &run, status.question, status.refusal, err
}

// decideExtend moves the end of an open question.
func decideExtend(run *store.Run, q *interaction.Question, until time.Time, by Actor, now time.Time,
) (*store.Commit, error) {
	changed := *q
	changed.EndsAt = until
	return decideChange(run, &changed, changeExtend, by, now)
}
