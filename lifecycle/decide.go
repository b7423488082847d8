package lifecycle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// This file decides what a run becomes. A command loads the run, calls one of the functions below
// with what it knows, and stores the commit that it gets:
//
//	decideSubmission    a host submits a run
//	decideStart         a node claims a run
//	decideReply         a reply settles the question
//	decideVote          a reply is a vote that needs others (votes.go)
//	decideDeadline      nobody replied in time
//	decideOwnWait       a step of a question's own wait, or its end, is due (steps.go)
//	decideExtend        somebody moves the end of such a wait (steps.go)
//	decideClaim         somebody claims an open question (question_claims.go)
//	decideRelease       somebody releases a claimed question (question_claims.go)
//	decideReassign      somebody puts a question to others (question_claims.go)
//	decideCancel        somebody cancels the run
//	decideTurn          a turn has ended
//	decideReport        an engine reports something during its turn
//	decideDroppedTurn   a node lost one of its own turns
//	decideLostProcess   a resident process has ended while its run waits
//	decideOrphan        recovery finds a run of a dead node
//	decideBlock         an engine refuses the session of a parked run, which is held
//	decideUnblock       a held run may go on (hold.go)
//	decideResume        somebody decides about a held run
//	decideAwait         a turn ends, and its run waits for children of it (children.go)
//	decideGoOn          a run has waited long enough for its children (children.go)
//	decideFamilyDue     a node has done what was due for the relatives of a run (children.go)
//
// Each picks the event of the contract, and transition (transition.go) makes the commit. All are
// pure: the time is an argument, and no store, engine or clock is asked. Runs and details are
// large, so they are passed by reference; neither is changed.
//
// Every error means that nothing of the change is stored (A7, F7). It is a *fsm.Refusal or a
// *fcmp.SchemaViolation; decideDeadline also refuses a record that contradicts itself.

// creation is what the contract says of a new run.
var creation = fsm.Submit()

// decideSubmission makes the commit that creates a run.
func decideSubmission(r *store.Run, spec []byte) (*store.Commit, error) {
	c := newCommit(r)
	c.Run.Version, c.Spec = 1, spec
	err := addTransitionEvents(c, creation.Emits, &details{})
	return c, err
}

// decideStart starts the next turn of a claimed run. It returns the commit as ClaimRequest.Start
// does.
func decideStart(run *store.Run, node string, now time.Time) (store.Commit, error) {
	c, err := transition(run, fsm.EventTurnStarted, &details{now: now, node: node})
	if err != nil {
		return store.Commit{}, err
	}
	return detachCommit(c), nil
}

// decideReply settles the open question that the reply names. The run returns to the queue, unless
// it waits for further answers (K1). The error may also be that of Reply.CheckFor.
func decideReply(run *store.Run, reply interaction.Reply, now time.Time) (*store.Commit, error) {
	question := run.OpenQuestion(reply.ID)
	if err := reply.CheckFor(*question); err != nil {
		return nil, err
	}
	now = notEarlier(now, run.UpdatedAt) // the answer has the time of the commit
	if err := question.CheckClaim(reply.Actor, now); err != nil {
		return nil, err
	}
	if question.DecidedBySeveral() {
		voted := question.WithVote(reply, now)
		if !question.Decides(reply.Decision) {
			return decideVote(run, &voted, reply, now)
		}
		question = &voted
	}
	answer := reply.AnswerTo(question, now)
	digest := ""
	if reply.Key != "" {
		digest = reply.DigestFor(question)
	}
	d := details{
		now: now, facts: fsm.FactPendingMatches | fsm.FactRuleMet, answer: &answer,
		settled: settledBy(run, question, answer, reply.Key, digest), voted: question.DecidedBySeveral(),
	}
	d.settled[0].Seen = reply.Seen
	if run.Together != nil && !completesRule(run, &answer) {
		d.facts &^= fsm.FactRuleMet
		return transition(run, fsm.EventInteractionRecorded, &d)
	}
	d.closeSiblings(run, now)
	return transition(run, fsm.EventInteractionReplyAccepted, &d)
}

// decideCancel ends a run for the reason that somebody gave.
func decideCancel(run *store.Run, reason string, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventRunCanceled, &details{
		now: now, reason: reason, message: reason, settled: abandoned(run, now),
	})
}

// decideDeadline fires the deadline of the open questions, if it has passed: the run goes on with
// automatic decisions, or fails (section D).
//
// The time until which a queued run is held is such a deadline, too: the run is tried again (J5).
func decideDeadline(run *store.Run, now time.Time) (*store.Commit, error) {
	if run.State == fsm.StateQueued && run.Held() {
		return decideUnblock(run, causeDue, Actor{}, now)
	}
	if run.Pending == nil {
		return nil, errors.New("lifecycle: run has a deadline and no question")
	}
	if run.Pending.Wait != nil {
		return decideOwnWait(run, now)
	}
	d := details{now: notEarlier(now, run.UpdatedAt), facts: fsm.FactPendingMatches}
	d.facts |= factIf(!run.Deadline.After(now), fsm.FactDeadlinePassed)
	rule, _ := fsm.Wait(run.Profile, run.Strict)
	if rule.OnDeadline == fsm.DeadlineAutoDecide && factsOf(run, &d).Has(fsm.FactAutoDecisionLeft) {
		autoDecideOpenQuestions(run, &d)
		return transition(run, fsm.EventInteractionAutoDecideTimeout, &d)
	}
	d.settled = abandoned(run, d.now)
	d.message = "nobody replied within " + run.SessionTimeout.String()
	return transition(run, fsm.EventInteractionWaitTimeout, &d)
}

// decideTurn ends a turn by the evidence of its outcome. One whose engine was not called when its
// host shut down goes back to the queue. One that was interrupted through no fault of its own, by a
// shutdown of its host or by the loss of its agent, is executed again or held where spec or host
// say so (E4, J1, J3). One that failed for a passing reason is tried again later (J2), and one that
// failed for a reason that an operator can repair may be held (J5). One that ended well may let its
// run sleep (M1), or wait for its children (M3).
func decideTurn(run *store.Run, turn *turnEvidence, node string, now time.Time) (*store.Commit, error) {
	run = withProgress(run, turn.finalEntries())
	switch {
	case turn.interruption == nil && turn.asksAgain:
		return decideAskAgain(run, turn, node, now)
	case turn.interruption == nil && len(turn.children) > 0:
		return decideAwait(run, turn, node, now)
	case turn.interruption == nil && !turn.sleep.IsZero():
		return decideSleep(run, turn, node, now)
	case errors.Is(turn.interruption, engine.ErrShutdown):
		return decideShutDownTurn(run, turn, node, now)
	case turn.interruption == nil && turn.process.Status == engine.Interrupted:
		return decideLostAgent(run, turn, node, now)
	case turn.retry != nil && turn.process.Status == engine.Failed && turn.process.Transient:
		return decidePassingFailure(run, turn, node, now)
	default:
		return decideFailedTurn(run, turn, node, now)
	}
}

// decideShutDownTurn ends a turn that a shutdown of its host has interrupted.
func decideShutDownTurn(run *store.Run, turn *turnEvidence, node string, now time.Time) (*store.Commit, error) {
	if !turn.begun {
		handedBack, err := decideHandBack(run, node, "the host shut down before the turn began", now)
		if !isRefusal(err) {
			return handedBack, err
		}
	}
	d := details{
		now: now, node: node, facts: fsm.FactWorkerGone, shutdown: true, onInterrupt: turn.host.onInterruptOf(run),
	}
	return decideLostTurn(run, &d, "the host shut down during the turn")
}

// decideLostAgent ends a turn whose agent was lost while the host lives. The turn is repeated, or
// the run is held, or it fails because it was repeated too often. If neither repeats nor questions
// to an operator are wanted, the completion gate decides.
func decideLostAgent(run *store.Run, turn *turnEvidence, node string, now time.Time) (*store.Commit, error) {
	d := details{
		now: now, node: node, facts: fsm.FactWorkerGone, session: turn.session,
		onInterrupt: turn.host.onInterruptOf(run),
	}
	if d.onInterrupt == Ask {
		held, err := holdTurn(run, newHold(fsm.CodeTurnInterrupted, turn.processFault()), &d)
		if !isRefusal(err) {
			return held, err
		}
	}
	repeated, err := repeatTurn(run, &d, turn.processFault())
	switch {
	case !isRefusal(err):
		return repeated, err
	case factsOf(run, &d).Has(fsm.FactRepeatsExhausted):
		return failLostTurn(run, &d, turn.processFault())
	default:
		return decideByGate(run, turn, node, now)
	}
}

// statusCodes are the error codes of a process that names none.
var statusCodes = map[engine.Status]fsm.Code{
	engine.Interrupted: fsm.CodeTurnInterrupted,
	engine.TimedOut:    fsm.CodeTurnTimeout,
}

// decideByGate ends a turn as the completion gate says (B1 to B11).
func decideByGate(run *store.Run, turn *turnEvidence, node string, now time.Time) (*store.Commit, error) {
	d := turn.details()
	d.now, d.node = now, node
	rule := fsm.Decide(factsOf(run, &d))
	d.code = rule.Error
	d.warnings = slices.Clip(d.warnings) // they are the turn's: an append must copy them
	for _, w := range rule.Warnings {
		d.warnings = append(d.warnings, interaction.Diagnostic{Code: w})
	}
	switch rule.Outcome {
	case fsm.EventTurnNeedsInput:
		d.question, d.siblings, d.rule = turn.question, turn.siblings, turn.rule
		d.warnings = append(d.warnings, turn.questionWarnings...)
	case fsm.EventTurnFailed:
		d.message = turn.failureMessage(rule)
		switch {
		case rule.Error == fsm.CodeBudgetExhausted:
			d.message = spentReason(run.Budget)
		case turn.process.Status != engine.OK:
			d.code = cmp.Or(turn.process.Code, statusCodes[turn.process.Status])
		}
	}
	return transition(run, rule.Outcome, &d)
}

// decideRefusedOutcome fails a run because the contract or the store refuses the outcome of its
// turn.
func decideRefusedOutcome(run *store.Run, refusal error, node string, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventTurnFailed, &details{
		now: now, node: node, code: fsm.CodeProtocolSchemaViolation, message: shortened(refusal.Error()),
	})
}

// decideReport makes a commit that changes no state: what an engine reports while its turn
// executes.
func decideReport(prev *store.Run, now time.Time, session *engine.SessionHandle, events ...fcmp.Payload) (
	*store.Commit, error) {
	c := newCommit(prev)
	c.Run.Version++
	c.Run.UpdatedAt = notEarlier(now, prev.UpdatedAt)
	if session != nil {
		c.Run.Session = session
	}
	for _, e := range events {
		if w, ok := e.(*fcmp.Warning); ok {
			c.Run.Warnings = withWarning(c.Run.Warnings, fsm.Warning(w.Code))
		}
		if err := addEvent(c, e); err != nil {
			return nil, err
		}
	}
	for _, e := range c.Events {
		c.Run.Reported += len(e.Body)
	}
	return c, nil
}

// decideDroppedTurn ends a turn that its own node has ended without storing an outcome.
func decideDroppedTurn(run *store.Run, host hostPolicy, node string, now time.Time) (*store.Commit, error) {
	if run.AsksAgain() {
		return decideHandBack(run, node, "the host left before the fork had asked again", now)
	}
	return decideLostTurn(run, &details{
		now: now, node: node, facts: fsm.FactWorkerGone, onInterrupt: host.onInterruptOf(run),
	}, "the host could not renew its lease during the turn, or the store does not have the turn's outcome")
}

// decideLostTurn ends a turn whose worker is gone: the run is held where somebody is to be asked,
// returns to the queue where the contract allows the turn to be repeated, and fails otherwise.
func decideLostTurn(run *store.Run, d *details, why string) (*store.Commit, error) {
	if d.onInterrupt == Ask {
		held, err := holdTurn(run, newHold(fsm.CodeOrchestratorRestartInterrupted, why), d)
		if !isRefusal(err) {
			return held, err
		}
	}
	repeated, err := repeatTurn(run, d, why)
	if isRefusal(err) {
		return failLostTurn(run, d, why)
	}
	return repeated, err
}

// repeatTurn returns the run to the queue, for the same turn to be executed again. The error is a
// *fsm.Refusal where that is not allowed. It passes on only those of the details that matter for a
// repeat; the others are what failLostTurn would record.
func repeatTurn(run *store.Run, d *details, why string) (*store.Commit, error) {
	repeated := interaction.Diagnostic{Code: fsm.WarnTurnRepeated, Detail: why}
	if d.handedBack {
		repeated.Code = fsm.WarnTurnHandedBack
	}
	return transition(run, fsm.EventRestartRequeue, &details{
		now: d.now, node: d.node, facts: d.facts, shutdown: d.shutdown, handedBack: d.handedBack, session: d.session,
		onInterrupt: d.onInterrupt,
		warnings:    append(slices.Clip(d.warnings), repeated),
	})
}

// failLostTurn fails a run whose turn was lost and is not repeated.
func failLostTurn(run *store.Run, d *details, why string) (*store.Commit, error) {
	failure := *d
	failure.message = cmp.Or(d.message, why)
	if factsOf(run, d).Has(fsm.FactRepeatsExhausted) {
		failure.message = shortened(fmt.Sprintf("%s; it was repeated %d times in a row, which is the limit", why,
			run.Repeats))
	}
	return transition(run, fsm.EventRestartReconcileFailed, &failure)
}

func isRefusal(err error) bool {
	var refusal *fsm.Refusal
	return errors.As(err, &refusal)
}

// decideLostProcess fails a waiting run whose resident process has ended.
func decideLostProcess(run *store.Run, why string, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventInteractionProcessLost, &details{
		now: now, message: why, settled: abandoned(run, now),
	})
}

// decideOrphan settles a run that cannot go on as it is since its node has died (E2 to E4): a turn
// is repeated or held where that is wanted, a parked run whose session is refused may be held (J5),
// and any other run has lost its context and fails. (A parked run whose session is good needs no
// decision, see store.Run.ShowDeparture, unless it was held.)
func decideOrphan(run *store.Run, found *orphanEvidence, host hostPolicy) (*store.Commit, error) {
	waiting, sticky := run.State == fsm.StateWaitingUser, run.Profile == fsm.ProfileStickyProcess
	switch {
	case waiting && run.Held() && found.sessionFault == "":
		return decideUnblock(run, causeRepaired, Actor{}, found.at)
	case waiting && !sticky && run.HasSession() && host.holds(run):
		return decideBlock(run, found.sessionFault, found.at)
	}
	failure := details{
		now: found.at, facts: fsm.FactContextLost | fsm.FactWorkerGone, warnings: found.warnings,
		recovery: store.FailedReconciled, settled: abandoned(run, found.at), onInterrupt: host.onInterruptOf(run),
	}
	switch {
	case run.State == fsm.StateRunning && run.AsksAgain(): // its engine was not called
		return decideHandBack(run, "", "the worker died before the fork had asked again", found.at)
	case run.State == fsm.StateRunning:
		failure.reason, failure.message = "worker gone", "the worker died during the turn, which may not be repeated"
		return decideLostTurn(run, &failure, "the worker died during the turn")
	case sticky:
		failure.reason, failure.message = "process gone", "the process that held the session died with its host"
	case waiting:
		failure.reason, failure.message = "session lost", found.sessionFault
	}
	return transition(run, fsm.EventRestartReconcileFailed, &failure)
}

// abandoned returns a history entry for each open question of a run that ends: the question was
// closed without an answer.
func abandoned(run *store.Run, at time.Time) []interaction.Record {
	if run.Pending == nil {
		return nil
	}
	all := make([]interaction.Record, 0, 1+len(run.Siblings))
	all = append(all, interaction.Abandon(*run.Pending, at))
	for _, q := range run.Siblings {
		all = append(all, interaction.Abandon(q, at))
	}
	for i := range all {
		keepForkPoint(&all[i], run)
	}
	return all
}

// keepForkPoint stores in the record of a question what a fork needs to go on from there: the
// session, and how many entries the journal has. They are as they were when the question was asked,
// because neither changes while the run waits.
func keepForkPoint(r *interaction.Record, run *store.Run) {
	r.Session = run.Session
	if run.Journal != nil {
		r.Journal = run.Journal.Entries
	}
}

// settledBy is the record of an open question as the answer settles it.
func settledBy(run *store.Run, q *interaction.Question, answer interaction.Answer, key, digest string,
) []interaction.Record {
	all := []interaction.Record{interaction.Settle(*q, answer, key, digest)}
	keepForkPoint(&all[0], run)
	return all
}
