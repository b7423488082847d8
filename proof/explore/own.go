package explore

import (
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
)

// This file is about optional features of a single question (K5, K7): a wait with a step before its
// end, claims, and an approval by two people.

// voter is the bit of a user in Run.Voted, and who a claim names.
func voter(i int) uint8 { return 1 << i }

// claimedByOther reports whether another user's claim of the open question lasts.
func (s *State) claimedByOther(i int) bool {
	return s.Run.Claim != 0 && s.Run.Claim != voter(i) && !s.ClaimOver
}

// asks reports whether the user is asked the open question.
func (s *State) asks(i int) bool { return s.Run.To == 0 || s.Run.To == voter(i) }

// changes lets a user read the run, to change the open question: like lifecycle.Claim, Release,
// Reassign and Extend. Ada claims, ben does so, too, and moves the end of waits. Each may reassign
// a question for everybody to the other one.
func (w *walk) changes(i int) {
	r := &w.from.Run
	if r.State != waiting {
		return
	}
	read := func(kind actionKind, op task) {
		n := w.newStep()
		n.Users[i] = Command{Task: op, ID: r.Pending}
		w.step(Action{kind: kind, who: user(i), arg: r.Pending}, n, "")
	}
	if i == 1 && r.Fired > 0 && r.Deadline != 0 && !w.scenario.Claims {
		read(readsToExtend, extendWait)
	}
	if !w.scenario.Claims {
		return
	}
	if w.from.asks(i) && !w.from.claimedByOther(i) || w.off[ReplyClaim] {
		read(readsToClaim, claimQuestion)
	}
	if r.To == 0 && !w.from.claimedByOther(i) {
		read(readsToReassign, reassignQuestion)
	}
	if i == 1 && w.from.asks(i) {
		read(readsToNote, noteQuestion)
	}
	if r.Claim == voter(i) && !w.from.ClaimOver {
		read(readsToRelease, releaseQuestion)
	}
}

// change changes the open question; the run waits on, held or not. A note changes nothing else.
func (m *model) change(next *Run, w *change) {
	switch {
	case w.event == interactionStep:
		next.Fired++
		next.Claim, next.To = 0, 0 // in scenarios with claims, the step puts the question to others
		if m.scenario.Then == thenWait {
			next.Deadline = 0
		}
	case w.changed == claimQuestion:
		next.Claim = w.who
	case w.changed == releaseQuestion:
		next.Claim = 0
	case w.changed == reassignQuestion:
		next.Claim, next.To = 0, (voter(0)|voter(1))&^w.who
	}
}

// endOwnWait returns the change that is due by the open question's own wait.
func (w *walk) endOwnWait(r *Run) *change {
	then := w.scenario.Then
	ch := &change{extra: pendingMatches | deadlinePassed | ownWait | when(then == thenFail, waitFails) |
		when(then == thenDecide, waitDecides), id: r.Pending}
	switch {
	case r.Fired == 0:
		ch.event = interactionStep
	case then == thenDefault:
		ch.event, ch.by = defaultTaken, byDefault
		ch.extra |= ruleMet
	case then == thenDecide && w.facts(r)&autoDecisionLeft != 0:
		ch.event, ch.by = autoDecided, byDeadline
		ch.extra |= ruleMet
	default:
		ch.event = waitTimeout
	}
	return ch
}

// The events about optional features of a question.

var userNames = map[uint8]string{1: "ada", 2: "ben"}

// askWithWait adds a wait to the event of a question: a step after half of waitTime, and an end
// after all of it.
func (w *logWriter) askWithWait(asked *fcmp.InputRequired) {
	w.step = w.now.Add(waitTime / 2)
	action := "remind"
	if w.scenario.Claims {
		action = "escalate"
	}
	asked.OnDeadline = w.scenario.Then
	asked.Wait = &fcmp.OwnWait{Steps: []fcmp.OwnWaitStep{{At: w.step, Action: action}}}
	if w.deadline = (time.Time{}); w.scenario.Then != thenWait {
		w.deadline = w.now.Add(waitTime)
		asked.WaitDeadlineAt = w.deadline
	}
}

// nextDue is the time of the open question's next step, or its deadline.
func (w *logWriter) nextDue() time.Time {
	if !w.step.IsZero() {
		return w.step
	}
	return w.deadline
}

// carryOutStep returns the time of the step that is carried out.
func (w *logWriter) carryOutStep() time.Time {
	due := w.step
	w.step = time.Time{}
	return due
}

// openFor is for how many seconds the question waits.
func (w *logWriter) openFor() int {
	if w.scenario.Then == "" {
		return int(waitTime / time.Second)
	}
	return int(w.deadline.Sub(w.asked) / time.Second)
}

// changedQuestion is the event of a change of the open question.
func (w *logWriter) changedQuestion(id uint8, t *emission) fcmp.Changed {
	c := fcmp.Changed{InteractionID: int(id), Actor: userNames[t.who]}
	switch t.changed {
	case extendWait:
		w.deadline = w.now.Add(waitTime)
		c.Change, c.WaitDeadlineAt = "extend", w.deadline
	case claimQuestion:
		w.claimedUntil = w.now.Add(2 * waitTime) // longer than the wait, so that the order of the two is free
		c.Change, c.ClaimedUntil = "claim", w.claimedUntil
	case reassignQuestion:
		c.Change, c.To = "reassign", &fcmp.Audience{Users: []string{userNames[(voter(0)|voter(1))&^t.who]}}
	default:
		c.Change = "release"
	}
	return c
}

// reply is the event of an answer, which says who gave it where that matters.
func (w *logWriter) reply(id uint8, t *emission) fcmp.ReplyAccepted {
	r := fcmp.ReplyAccepted{InteractionID: int(id), ResolutionMode: "user_reply", AcceptedAt: w.now}
	if w.scenario.Votes || w.scenario.Claims {
		r.Actor = userNames[t.who]
	}
	if w.scenario.Votes {
		if r.Decision = "approve"; t.rejects {
			r.Decision = "reject"
		}
	}
	return r
}
