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

// Each function here applies one family of effects to the commit's copy of a record, and shares
// nothing with it that a later decision changes.

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

// withWarning returns the codes and one more, unless it is a duplicate, or an engine's own beyond
// maxOwnWarnings. It does not change the given slice.
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

func yieldTurn(next *store.Run, y *yielding, now time.Time) {
	switch {
	case y.passing != nil:
		putOff(next, y.passing, now)
	case y.hold != nil:
		holdRun(next, y.hold, now)
	case !y.sleep.IsZero():
		putToSleep(next, y.sleep)
	case y.await != nil:
		queueForChildren(next, y.await, now)
	}
}

// putOff records a turn's transient failure and the time of its retry.
func putOff(next *store.Run, failure *passingFailure, now time.Time) {
	countYield(next)
	next.Repeats++
	next.NotBefore = Later(now.Add(pauseBefore(next.Repeats, failure.retry, next.ID, failure.after)), next.NotBefore)
	next.Block = &store.Block{
		Kind: store.BlockRetry, Until: next.NotBefore, Code: failure.code, Reason: utf8Text(failure.message),
	}
}

// putToSleep queues the run for a next turn at a later time, after a turn without an error. A sleep
// ends a row of repeats.
func putToSleep(next *store.Run, until time.Time) {
	endRow(next)
	countYield(next)
	next.Answers, next.Together = nil, nil
	next.NotBefore = Later(notBefore(until), next.NotBefore)
	next.Block = &store.Block{Kind: store.BlockSleep, Until: next.NotBefore, Reason: "the run sleeps"}
}

// queueForChildren queues the run until its children have ended, after a turn without an error. It
// ends a row of repeats, too.
func queueForChildren(next *store.Run, block *store.Block, now time.Time) {
	endRow(next)
	countYield(next)
	next.Answers, next.Together = nil, nil
	next.Block = block
	setFamilyDue(next, now)
}

// setFamilyDue sets when a node must process the run's relatives, if any.
func setFamilyDue(r *store.Run, due time.Time) {
	if r.Family != nil && (!r.Family.Due.Equal(due) || r.Family.Kept) {
		family := *r.Family // a copy: the record that was read shares the other one
		family.Due, family.Kept = due, false
		r.Family = &family
	}
}

func changeBlock(next *store.Run, b *blocking, now time.Time) {
	if b.begins != nil {
		holdRun(next, b.begins, now)
	} else {
		unblock(next, b.ends)
	}
}

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

// keepBlock keeps a parked run held after its question is settled. It is then retried
// automatically, since the sessions of queued runs are not checked.
func keepBlock(next *store.Run, block *store.Block, now time.Time) {
	b := *block
	b.Until = now.Add(firstHoldPause)
	next.Block = &b
}

// unblock ends the block of a run. If a person resumed it, repeats and holds are counted from zero
// again.
func unblock(next *store.Run, cause string) {
	next.Block = nil
	if cause == causeResumed {
		endRow(next)
	}
}

// countRepeat counts a repeat of a turn, and a loss if its node died. The first loss of a run that has
// not yielded is left out, so that every release stores the same record for it: lossesOf finds it.
// It is stored if the next loss would be the last, since the run is a suspect then.
func countRepeat(next *store.Run, nodeDied bool) {
	losses := lossesOf(next)
	next.Repeats++
	if last := next.Repeats >= cmp.Or(next.MaxRepeats, store.DefaultMaxRepeats); nodeDied &&
		(losses > 0 || next.Yielded > 0 || last) {
		next.Losses = losses + 1
	}
}

// countYield counts an attempt that MaxAttempts ignores. It stores a loss that was left out.
func countYield(next *store.Run) {
	next.Losses = lossesOf(next)
	next.Yielded++
}

// lossesOf returns how many of the repeats were losses. Without stored losses, the repeats of a run
// that never yielded count as one: they followed a lost node, a lost agent or a dropped turn, and no
// retry, which yields.
func lossesOf(r *store.Run) int {
	if r.Losses == 0 && r.Yielded == 0 {
		return min(r.Repeats, 1)
	}
	return r.Losses
}

func endRow(next *store.Run) { next.Repeats, next.Losses, next.Holds = 0, 0, 0 }

// openQuestions opens the turn's questions, with consecutive numbers and one deadline, from the
// waiting policy or the earliest of their waits.
func openQuestions(next *store.Run, a *asking, now time.Time) {
	if next.AsksAgain() { // the attempt does not count, since the engine was not called
		countYield(next)
	}
	first := next.Interactions + 1
	next.Open, next.Together = make([]interaction.Question, 1, 1+len(a.siblings)), nil
	next.Open[0] = *a.question
	next.Open = append(next.Open, a.siblings...)
	for i := range next.Open {
		next.Interactions++
		q := &next.Open[i]
		q.ID, q.Attempt, q.AskedAt, q.HiddenFor = next.Interactions, next.Attempt, now, 0
		if q.Subject != nil {
			q.HiddenFor = uint16(a.hideFor / time.Second)
		}
	}
	if len(a.siblings) > 0 {
		next.Together = &store.Together{First: first, Asked: 1 + len(a.siblings), Rule: a.rule}
	}
	if startWaits(next) {
		setDeadline(next)
		return
	}
	if rule, ok := fsm.Wait(next.Profile, next.Strict); ok && rule.OnDeadline != fsm.DeadlineKeepWaiting {
		next.Deadline = now.Add(next.SessionTimeout)
	}
}

// startWaits sets the ends of the new questions, and reports whether they have waits. If only some
// have, the others get the run's policy as a wait.
func startWaits(next *store.Run) bool {
	own := false
	for i := range next.Open {
		own = own || next.Open[i].Wait != nil
	}
	if !own {
		return false
	}
	for i := range next.Open {
		q := &next.Open[i]
		if q.Wait == nil {
			q.Wait = policyWait(next)
		}
		q.StartWait()
	}
	return true
}

func policyWait(r *store.Run) *interaction.Wait {
	switch rule, _ := fsm.Wait(r.Profile, r.Strict); rule.OnDeadline {
	case fsm.DeadlineAutoDecide:
		return &interaction.Wait{End: r.SessionTimeout, Then: interaction.ThenDecide}
	case fsm.DeadlineFail:
		return &interaction.Wait{End: r.SessionTimeout, Then: interaction.ThenFail}
	}
	return &interaction.Wait{}
}

// setDeadline sets the deadline to the earliest step or end of the questions' waits.
func setDeadline(next *store.Run) {
	if len(next.Open) > 0 && next.Open[0].Wait != nil {
		next.Deadline, _ = next.NextDue()
	}
}

// recordReply records the reply to one of several questions. The run keeps waiting, and a hold
// stays.
func recordReply(next, prev *store.Run, answer *interaction.Answer, now time.Time) {
	together := *prev.Together
	if answer.Resolution == interaction.UserReply {
		together.Replies++
	}
	next.Together, next.Block = &together, prev.Block
	next.CloseQuestion(answer.ID)
	countAutoDecision(next, answer, now)
	setDeadline(next)
}

// changeQuestion stores the changed question of a run that keeps waiting. A hold stays. Whoever
// changes a question ends its policy, which itself decides or asks once.
func changeQuestion(next, prev *store.Run, changed *interaction.Question) {
	next.Block = prev.Block
	q := *changed
	q.HiddenFor = 0
	next.ReplaceQuestion(q)
	setDeadline(next)
}

func countAutoDecision(next *store.Run, a *interaction.Answer, now time.Time) {
	if a.Resolution == interaction.AutoDecideTimeout {
		next.AutoDecisions++
		next.LastAutoDecisionAt = now
	}
}
