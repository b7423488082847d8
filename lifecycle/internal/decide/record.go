package decide

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// Each function here applies one group of effects to the commit's copy of a record. It copies
// data shared with the previous record before it changes the data. The functions are ordered by
// their transitions: first any transition, then transitions that keep the state, queue the run,
// let it wait, or end it.

func recordTurnEnd(next *store.Run, turn *turnEnd) {
	if turn.profile != "" {
		next.Profile = turn.profile
	}
	if turn.session != nil {
		next.Session = turn.session
	}
	for _, w := range turn.warnings {
		next.Warnings = withWarning(next.Warnings, w.Code)
	}
}

// withWarning adds a code, unless it is a duplicate, or an engine's own code beyond
// maxOwnWarnings.
func withWarning(codes []fsm.Warning, code fsm.Warning) []fsm.Warning {
	if slices.Contains(codes, code) || (code.Own() && len(codes) >= maxOwnWarnings) {
		return codes
	}
	return append(slices.Clip(codes), code)
}

func recordRecovery(next *store.Run, end *ending, now time.Time) {
	if end.recovery != "" {
		next.Recovery, next.RecoveredAt, next.RecoveryReason = end.recovery, Later(now, next.RecoveredAt), end.reason
	}
}

// setFamilyDue sets when a node must process the run's parent and children, if any.
func setFamilyDue(r *store.Run, due time.Time) {
	if r.Family != nil && (!r.Family.Due.Equal(due) || r.Family.Kept) {
		family := *r.Family
		family.Due, family.Kept = due, false
		r.Family = &family
	}
}

// changeQuestion stores the changed question of a run that keeps waiting. A hold stays. Any
// change except a note, even by the host's policy, shows the question to people, since the policy
// acts only once.
func changeQuestion(next, prev *store.Run, changed *interaction.Question, isNote bool) {
	next.Block = prev.Block
	q := *changed
	if !isNote {
		q.HiddenFor = 0
	}
	next.ReplaceQuestion(q)
	setDeadline(next)
}

// recordAnswer records an answer while other questions stay open. The run keeps waiting, and a
// hold stays.
func recordAnswer(next, prev *store.Run, answer *interaction.Answer, now time.Time) {
	together := *prev.Together
	if answer.Resolution == interaction.UserReply {
		together.Replies++
	}
	next.Together, next.Block = &together, prev.Block
	next.CloseQuestion(answer.ID)
	countAutoDecision(next, answer, now)
	setDeadline(next)
}

// changeHold begins or ends a hold. After a person's Resume, repeats and holds are counted from zero
// again.
func changeHold(next *store.Run, change *holdChange, now time.Time) {
	switch {
	case change.begins != nil:
		holdRun(next, change.begins, now)
	case change.endCause == causeResumed:
		resetRepeats(next)
	}
}

// holdRun holds a queued run, or a parked one, which has no turn to count or to retry.
func holdRun(next *store.Run, h *hold, now time.Time) {
	next.Block = &store.Block{Kind: store.BlockHeld, Code: h.code, Reason: h.reason,
		Choices: slices.Clone(repairChoices)}
	if next.State != fsm.StateQueued {
		return
	}
	next.Holds++
	countYield(next)
	if h.retried {
		next.Block.Until = now.Add(max(HoldPause(next.Holds), h.after)).Truncate(time.Microsecond)
	}
}

// keepHold keeps a parked run held after its question is settled. Sessions of queued runs are not
// checked, so it is then retried automatically.
func keepHold(next *store.Run, block *store.Block, now time.Time) {
	b := *block
	b.Until = now.Add(firstHoldPause)
	next.Block = &b
}

func recordYield(next *store.Run, y *yielding, now time.Time) {
	switch {
	case y.failure != nil:
		scheduleRetry(next, y.failure, now)
	case y.hold != nil:
		holdRun(next, y.hold, now)
	case !y.sleep.IsZero():
		endGoodTurn(next)
		next.NotBefore = Later(roundUp(y.sleep), next.NotBefore)
		next.Block = &store.Block{Kind: store.BlockSleep, Until: next.NotBefore, Reason: "the run sleeps"}
	case y.await != nil:
		endGoodTurn(next)
		next.Block = y.await
		setFamilyDue(next, now)
	}
}

func scheduleRetry(next *store.Run, failure *transientFailure, now time.Time) {
	countYield(next)
	next.Repeats++
	next.NotBefore = Later(now.Add(pauseBefore(next.Repeats, failure.retry, next.ID, failure.after)), next.NotBefore)
	next.Block = &store.Block{
		Kind: store.BlockRetry, Until: next.NotBefore, Code: failure.code, Reason: utf8Text(failure.message),
	}
}

// endGoodTurn records that a turn used its answers, and yielded without an error.
func endGoodTurn(next *store.Run) {
	resetRepeats(next)
	countYield(next)
	next.Answers, next.Together = nil, nil
}

func resetRepeats(next *store.Run) { next.Repeats, next.Losses, next.Holds = 0, 0, 0 }

// countRepeat counts a repeat of a turn, and a loss if its node died. The first loss of a run
// that has not yielded is not stored. Earlier releases do not store it either, so the record stays
// the same; lossesOf computes it from Repeats. It is stored if the next loss would be the last,
// because the run is then a suspect.
func countRepeat(next *store.Run, nodeDied bool) {
	losses := lossesOf(next)
	next.Repeats++
	last := next.Repeats >= maxRepeats(next)
	if nodeDied && (losses > 0 || next.Yielded > 0 || last) {
		next.Losses = losses + 1
	}
}

// countYield counts an attempt that MaxAttempts ignores, and stores an inferred loss.
func countYield(next *store.Run) {
	next.Losses = lossesOf(next)
	next.Yielded++
}

// lossesOf returns how many of the repeats were losses. The repeats of a run that never yielded
// were no retries, so they count as one loss even if none is stored.
func lossesOf(r *store.Run) int {
	if r.Losses == 0 && r.Yielded == 0 {
		return min(r.Repeats, 1)
	}
	return r.Losses
}

func countAutoDecision(next *store.Run, a *interaction.Answer, now time.Time) {
	if a.Resolution == interaction.AutoDecideTimeout {
		next.AutoDecisions++
		next.LastAutoDecisionAt = now
	}
}

// openQuestions opens the turn's questions, with consecutive numbers and one deadline: the earliest
// of their waits, or by the run's policy if none has a wait.
func openQuestions(next *store.Run, a *asking, now time.Time) {
	if next.AsksAgain() { // the attempt does not count, since the engine was not called
		countYield(next)
	}
	first := next.Interactions + 1
	next.Open, next.Together = make([]interaction.Question, 1, 1+len(a.siblings)), nil
	next.Open[0] = *a.question
	next.Open = append(next.Open, a.siblings...)
	waits := false
	for i := range next.Open {
		next.Interactions++
		q := &next.Open[i]
		q.ID, q.Attempt, q.AskedAt, q.HiddenFor = next.Interactions, next.Attempt, now, 0
		if q.Subject != nil {
			q.HiddenFor = uint16(a.hideFor / time.Second)
			if a.recall && q.HiddenFor == 0 && next.MemoryFor(q, now) != nil {
				q.HiddenFor = uint16(RecallTime / time.Second)
			}
		}
		waits = waits || q.Wait != nil
	}
	if len(a.siblings) > 0 {
		next.Together = &store.Together{First: first, Asked: 1 + len(a.siblings), Rule: a.rule}
	}
	if waits {
		startWaits(next)
		setDeadline(next)
	} else if wait := next.WaitOf(&next.Open[0]); wait.Then != "" {
		next.Deadline = now.Add(wait.End)
	}
}

// startWaits starts the waits of the new questions. Those without one get the run's policy as a wait.
func startWaits(next *store.Run) {
	for i := range next.Open {
		q := &next.Open[i]
		if q.Wait == nil {
			wait := next.WaitOf(q)
			q.Wait = &wait
		}
		q.StartWait()
	}
}

// setDeadline sets the deadline to the earliest step or end of the questions' waits, if any.
func setDeadline(next *store.Run) {
	if next.Open[0].Wait != nil {
		next.Deadline, _ = next.NextDue()
	}
}

func recordFailure(next *store.Run, row *fsm.Transition, end *ending) {
	code, message := row.Error, end.message
	switch {
	case row.To == fsm.StateCanceled:
		next.CancelReason = end.reason
		message = cmp.Or(utf8Text(message), "canceled")
	case row.Allows(end.code):
		code = end.code
	case end.code != "":
		message = Shortened(strings.TrimSuffix(string(end.code)+": "+message, ": "))
	}
	next.Error = &store.Failure{Code: code, Message: cmp.Or(utf8Text(message), string(code))}
}
