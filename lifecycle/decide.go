package lifecycle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// This file decides. A command loads a run, calls one of the functions below with what it knows,
// and stores the commit that it gets: decideStart (a claim), decideReply, decideCancel,
// decideDeadline, decideTurn (the end of a turn), decideDroppedTurn, decideLostProcess and
// decideOrphan (recovery). Each picks the event of the contract that the evidence stands for; apply
// takes the transition. All are pure: the time is an argument, and no store, engine or clock is
// asked. Runs and evidence are large, so they are passed by reference; neither is changed.
//
// Every error is a *fsm.Refusal or a *fcmp.SchemaViolation, and means that nothing of the
// change is kept (A7, F7).

// evidence is what is known of an event beside the run's record.
type evidence struct {
	now   time.Time
	node  string    // who starts, parks or recovers the run
	facts fsm.Facts // those that the record does not tell

	// orderly: the turn was interrupted by a shutdown of its host. That is no fault of the turn: it
	// neither counts as a repeat nor needs one that is left (J3).
	orderly bool

	profile     fsm.Profile           // the engine's; empty: as recorded
	session     *engine.SessionHandle // the engine's; nil: as recorded
	sessionLost bool                  // the engine went on to a session that cannot be stored

	code     fsm.Code // overrides the transition's error code
	message  string   // of the error, for a person
	warnings []interaction.Diagnostic
	final    *finalMessage
	output   []byte

	question *interaction.Question // to be asked
	answer   *interaction.Answer   // to go on with
	settled  *interaction.Record   // of the question that the event closes

	recovery store.RecoveryState
	reason   string // of a recovery or a cancel
}

// finalMessage is the assistant's last message of a turn.
type finalMessage struct {
	text      string
	truncated bool
	ref       *engine.RawRef
}

// factsOf are the facts that the record and the evidence give together. They are collected once for
// each decision.
func factsOf(r *store.Run, ev *evidence) fsm.Facts {
	f := ev.facts
	set := func(is bool, fact fsm.Facts) {
		if is {
			f |= fact
		}
	}
	set(r.Slot, fsm.FactSlotHeld)
	set(r.Mode == fsm.ModeInteractive, fsm.FactInteractive)
	set(cmp.Or(ev.profile, r.Profile) == fsm.ProfileStickyProcess, fsm.FactSticky)
	set((r.Session != nil || ev.session != nil) && !ev.sessionLost, fsm.FactHandlePresent)
	set(r.Strict, fsm.FactStrict)
	set(r.AutoDecisions < r.MaxAutoDecisions, fsm.FactAutoDecisionLeft)
	set(r.Repeatable, fsm.FactRepeatable)
	set(r.MaxAttempts > 0 && r.Attempt >= r.MaxAttempts, fsm.FactAttemptsExhausted)
	set(r.Repeatable && r.Repeats >= cmp.Or(r.MaxRepeats, DefaultMaxRepeats) && !ev.orderly, fsm.FactRepeatsExhausted)
	return f
}

// decide returns the commit that the event makes of the run.
func decide(run *store.Run, event fsm.Event, ev *evidence) (store.Commit, error) {
	return apply(run, event, factsOf(run, ev), ev)
}

// decideStart starts the next turn of a claimed run.
func decideStart(run *store.Run, node string, now time.Time) (store.Commit, error) {
	return decide(run, fsm.EventTurnStarted, &evidence{now: now, node: node})
}

// decideReply settles the pending question with a reply, and returns the run to the queue.
func decideReply(run *store.Run, reply interaction.Reply, digest string, now time.Time) (store.Commit, error) {
	now = notEarlier(now, run.UpdatedAt)
	answer := reply.Answer(now)
	record := interaction.Settle(*run.Pending, answer, reply.Key, digest)
	return decide(run, fsm.EventInteractionReplyAccepted, &evidence{
		now: now, facts: fsm.FactPendingMatches, answer: &answer, settled: &record,
	})
}

// decideCancel ends a run for the reason that somebody gave.
func decideCancel(run *store.Run, reason string, now time.Time) (store.Commit, error) {
	return decide(run, fsm.EventRunCanceled, &evidence{
		now: now, reason: reason, message: reason, settled: abandoned(run, now),
	})
}

// decideDeadline fires the deadline of the pending question, if it has passed: the run goes on with
// an automatic decision, or fails (section D).
func decideDeadline(run *store.Run, now time.Time) (store.Commit, error) {
	if run.Pending == nil {
		return store.Commit{}, errors.New("lifecycle: run has a deadline and no question")
	}
	passed := !run.Deadline.After(now)
	now = notEarlier(now, run.UpdatedAt)
	ev := evidence{now: now, facts: fsm.FactPendingMatches}
	if passed {
		ev.facts |= fsm.FactDeadlinePassed
	}
	facts := factsOf(run, &ev)
	rule, _ := fsm.Wait(run.Profile, run.Strict)
	if rule.OnDeadline == fsm.DeadlineAutoDecide && facts.Has(fsm.FactAutoDecisionLeft) {
		answer := interaction.NewAutoDecision(*run.Pending).Answer(now)
		record := interaction.Settle(*run.Pending, answer, "", "")
		ev.answer, ev.settled = &answer, &record
		return apply(run, fsm.EventInteractionAutoDecideTimeout, facts, &ev)
	}
	ev.settled = abandoned(run, now)
	ev.message = "nobody replied within " + run.SessionTimeout.String()
	return apply(run, fsm.EventInteractionWaitTimeout, facts, &ev)
}

// decideTurn ends a turn. What its engine brought goes to the completion gate, unless the turn was
// interrupted through no fault of its own: by a shutdown of its host, or by the loss of its agent
// while the host lives. Such a turn is executed again where the spec allows it (E4, J3).
func decideTurn(run *store.Run, turn *turnEvidence, node string, now time.Time) (store.Commit, error) {
	lost := evidence{now: now, node: node, facts: fsm.FactWorkerGone}
	switch {
	case errors.Is(turn.interruption, engine.ErrShutdown):
		lost.orderly = true
		return decideLostTurn(run, &lost, "the host shut down during the turn")
	case turn.interruption == nil && turn.process.Status == engine.Interrupted:
		lost.session = turn.session
		facts, why := factsOf(run, &lost), turn.processFault()
		if c, err := repeatTurn(run, facts, &lost, why); !isRefusal(err) {
			return c, err
		}
		if facts.Has(fsm.FactRepeatsExhausted) {
			return failLostTurn(run, facts, &lost, why)
		}
	}
	return decideByGate(run, turn, node, now)
}

// decideRefusedOutcome fails a run because the contract or the store refuses the outcome of its
// turn.
func decideRefusedOutcome(run *store.Run, refusal error, node string, now time.Time) (store.Commit, error) {
	return decide(run, fsm.EventTurnFailed, &evidence{
		now: now, node: node, code: fsm.CodeProtocolSchemaViolation, message: shortened(refusal.Error()),
	})
}

// statusCodes are the error codes of a process that names none.
var statusCodes = map[engine.Status]fsm.Code{engine.Interrupted: fsm.CodeTurnInterrupted,
	engine.TimedOut: fsm.CodeTurnTimeout}

// decideByGate ends a turn as the completion gate says (B1 to B11).
func decideByGate(run *store.Run, turn *turnEvidence, node string, now time.Time) (store.Commit, error) {
	ev := turn.evidence()
	ev.now, ev.node = now, node
	facts := factsOf(run, &ev)
	rule := fsm.Decide(facts)
	ev.code = rule.Error
	ev.warnings = slices.Clip(ev.warnings)
	for _, w := range rule.Warnings {
		ev.warnings = append(ev.warnings, interaction.Diagnostic{Code: w})
	}
	switch rule.Outcome {
	case fsm.EventTurnNeedsInput:
		ev.question = &turn.question
		ev.warnings = append(ev.warnings, turn.questionWarnings...)
	case fsm.EventTurnFailed:
		ev.message = turn.failureMessage(rule)
		if turn.process.Status != engine.OK {
			ev.code = cmp.Or(turn.process.Code, statusCodes[turn.process.Status])
		}
	}
	return apply(run, rule.Outcome, facts, &ev)
}

// decideDroppedTurn ends a turn that its own node has ended without storing an outcome.
func decideDroppedTurn(run *store.Run, node string, now time.Time) (store.Commit, error) {
	return decideLostTurn(run, &evidence{now: now, node: node, facts: fsm.FactWorkerGone},
		"the host could not renew its lease, or store the outcome, during the turn")
}

// decideLostTurn ends a turn whose worker or agent is gone: the run returns to the queue where the
// contract allows the turn to be repeated, and fails otherwise.
func decideLostTurn(run *store.Run, ev *evidence, why string) (store.Commit, error) {
	facts := factsOf(run, ev)
	if c, err := repeatTurn(run, facts, ev, why); !isRefusal(err) {
		return c, err
	}
	return failLostTurn(run, facts, ev, why)
}

// repeatTurn returns the run to the queue, for the same turn to be executed again. The error is a
// *fsm.Refusal where that is not allowed.
func repeatTurn(run *store.Run, facts fsm.Facts, ev *evidence, why string) (store.Commit, error) {
	repeated := interaction.Diagnostic{Code: fsm.WarnTurnRepeated, Detail: why}
	return apply(run, fsm.EventRestartRequeue, facts, &evidence{
		now: ev.now, node: ev.node, orderly: ev.orderly, session: ev.session,
		warnings: append(slices.Clip(ev.warnings), repeated),
	})
}

// failLostTurn fails a run whose turn was lost and is not repeated.
func failLostTurn(run *store.Run, facts fsm.Facts, ev *evidence, why string) (store.Commit, error) {
	failure := *ev
	failure.message = cmp.Or(ev.message, why)
	if facts.Has(fsm.FactRepeatsExhausted) {
		failure.message = shortened(fmt.Sprintf("%s; it was repeated %d times in a row, which is the limit", why,
			run.Repeats))
	}
	return apply(run, fsm.EventRestartReconcileFailed, facts, &failure)
}

func isRefusal(err error) bool {
	var refusal *fsm.Refusal
	return errors.As(err, &refusal)
}

// decideLostProcess fails a waiting run whose resident process has ended.
func decideLostProcess(run *store.Run, why string, now time.Time) (store.Commit, error) {
	return decide(run, fsm.EventInteractionProcessLost, &evidence{now: now, message: why,
		settled: abandoned(run, now)})
}

// decideOrphan settles a run whose node is dead (E1 to E4). A wait goes on if its question and
// session are intact, a turn is repeated where that is allowed, and any other run has lost its
// context and fails.
func decideOrphan(run *store.Run, found *orphanEvidence, node string) (store.Commit, error) {
	if run.State == fsm.StateWaitingUser && run.Profile != fsm.ProfileStickyProcess && found.sessionFault == "" {
		return decide(run, fsm.EventRestartPreserveWaiting, &evidence{
			now: found.at, node: node, facts: fsm.FactPendingMatches,
			recovery: store.RecoveredWaiting, reason: "pending question and session are intact",
		})
	}
	lost := evidence{
		now: found.at, node: node, facts: fsm.FactContextLost | fsm.FactWorkerGone, warnings: found.warnings,
		recovery: store.FailedReconciled, settled: abandoned(run, found.at),
	}
	switch {
	case run.State == fsm.StateRunning:
		lost.reason, lost.message = "worker gone", "the worker died during the turn, which may not be repeated"
		return decideLostTurn(run, &lost, "the worker died during the turn")
	case run.Profile == fsm.ProfileStickyProcess:
		lost.reason, lost.message = "process gone", "the process that held the session died with its host"
	case run.State == fsm.StateWaitingUser:
		lost.reason, lost.message = "session lost", found.sessionFault
	}
	return decide(run, fsm.EventRestartReconcileFailed, &lost)
}

// abandoned is the record of the open question of a run that ends, nil if it has none.
func abandoned(run *store.Run, at time.Time) *interaction.Record {
	if run.Pending == nil {
		return nil
	}
	r := interaction.Abandon(*run.Pending, at)
	return &r
}

// apply takes the transition of the contract that the event causes when the facts hold. The commit
// has the record as it will stand, and the events that publish it, in the contract's order.
func apply(run *store.Run, event fsm.Event, facts fsm.Facts, ev *evidence) (store.Commit, error) {
	row, err := fsm.Next(run.State, event, facts)
	if err != nil {
		return store.Commit{}, err
	}
	c := store.Commit{Run: *run, Expect: run.Version, Settled: ev.settled}
	next := &c.Run
	now := notEarlier(ev.now, run.UpdatedAt)
	next.Version++
	next.UpdatedAt = now
	next.State = row.To
	if ev.profile != "" {
		next.Profile = ev.profile
	}
	if ev.session != nil {
		next.Session = ev.session
	}
	for _, w := range ev.warnings {
		next.Warnings = withWarning(next.Warnings, w.Code)
	}
	if ev.recovery != "" {
		next.Recovery, next.RecoveredAt, next.RecoveryReason = ev.recovery, now, ev.reason
	}
	enterState(next, run, &row, ev, now)
	err = emit(&c, row.Emits, &emitter{from: run.State, event: row.Event, ev: ev})
	return c, err
}

// enterState sets what the new state implies, so that state, slot, question and deadline always
// agree.
func enterState(next, run *store.Run, row *fsm.Transition, ev *evidence, now time.Time) {
	if row.Slot == fsm.SlotRelease {
		next.Slot = false
	}
	if run.State == fsm.StateWaitingUser && row.To != fsm.StateWaitingUser {
		next.Pending, next.Deadline = nil, time.Time{}
	}
	switch row.To {
	case fsm.StateQueued:
		next.QueuedAt = now
		if !next.Slot {
			next.Owner = ""
		}
		if row.Event == fsm.EventRestartRequeue && !ev.orderly {
			next.Repeats++
			next.NotBefore = now.Add(repeatBackoff(next.Repeats))
		}
		if ev.answer != nil {
			next.Answer = ev.answer
			if ev.answer.Resolution == interaction.AutoDecideTimeout {
				next.AutoDecisions++
				next.LastAutoDecisionAt = now
			}
		}
	case fsm.StateRunning:
		next.Attempt++
		next.LocalSeq = 0
	case fsm.StateWaitingUser:
		next.Owner = ev.node
		if ev.question != nil {
			next.Answer, next.Repeats = nil, 0
			openQuestion(next, *ev.question, now)
		}
	default:
		endRun(next, row, ev, now)
	}
}

// repeatBackoff is how long a turn that lost its worker stays in the queue, by how often that
// happened in a row: one second, and twice as long each time, up to a minute. So the other runs go
// first (J3).
func repeatBackoff(repeats int) time.Duration {
	return min(time.Second<<min(repeats-1, 6), time.Minute)
}

// openQuestion makes the question the run's pending one, with the deadline that the waiting policy
// gives it.
func openQuestion(next *store.Run, q interaction.Question, now time.Time) {
	next.Interactions++
	q.ID, q.Attempt, q.AskedAt = next.Interactions, next.Attempt, now
	next.Pending = &q
	if rule, ok := fsm.Wait(next.Profile, next.Strict); ok && rule.OnDeadline != fsm.DeadlineKeepWaiting {
		next.Deadline = now.Add(next.SessionTimeout)
	}
}

// endRun sets what a run has when it has ended.
func endRun(next *store.Run, row *fsm.Transition, ev *evidence, now time.Time) {
	next.FinishedAt = now
	next.Slot, next.Owner, next.Answer = false, "", nil
	if ev.final != nil {
		next.FinalText = ev.final.text
	}
	switch row.To {
	case fsm.StateSucceeded:
		next.Output, next.Repeats = ev.output, 0
	case fsm.StateCanceled:
		next.CancelReason = ev.reason
		next.Error = &store.Failure{Code: row.Error, Message: orText(utf8Text(ev.message), "canceled")}
	default:
		code, message := row.Error, ev.message
		switch {
		case row.Allows(ev.code):
			code = ev.code
		case ev.code != "": // one that the contract does not have here is named in the message
			message = shortened(strings.TrimSuffix(string(ev.code)+": "+message, ": "))
		}
		next.Error = &store.Failure{Code: code, Message: orText(utf8Text(message), string(code))}
	}
}

// utf8Text replaces what is not UTF-8: a message may hold an engine's or a store's own words, and
// every store must keep it as it is.
func utf8Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func orText(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// begun says how a run begins.
var begun = fsm.Submit()

// decideSubmission makes the commit that creates a run.
func decideSubmission(r store.Run, spec []byte) (store.Commit, error) {
	r.Version = 1
	c := store.Commit{Run: r, Spec: spec}
	err := emit(&c, begun.Emits, &emitter{ev: &evidence{}})
	return c, err
}

// report is a commit of a running turn that changes no state: messages, diagnostics, the session
// handle.
func report(prev *Run, now time.Time, session *engine.SessionHandle, events ...fcmp.Payload) (store.Commit, error) {
	next := *prev
	next.Version++
	if now.After(prev.UpdatedAt) {
		next.UpdatedAt = now
	}
	if session != nil {
		next.Session = session
	}
	c := store.Commit{Run: next, Expect: prev.Version}
	for _, e := range events {
		if w, ok := e.(*fcmp.Warning); ok {
			c.Run.Warnings = withWarning(c.Run.Warnings, fsm.Warning(w.Code))
		}
		if err := addEvent(&c, e); err != nil {
			return store.Commit{}, err
		}
	}
	return c, nil
}

// withWarning are the codes with one more, unless they have it, or many of engines' own. They share
// nothing that is changed.
func withWarning(codes []fsm.Warning, code fsm.Warning) []fsm.Warning {
	if slices.Contains(codes, code) || (code.Own() && len(codes) >= maxOwnWarnings) {
		return codes
	}
	return append(slices.Clip(codes), code)
}

// emit adds the events of a transition in the contract's order.
func emit(c *store.Commit, emits []fsm.Emission, by *emitter) error {
	c.Events = make([]store.Event, 0, len(emits)+len(by.ev.warnings))
	for _, e := range emits {
		if err := by.emit(c, e.Type); err != nil {
			return err
		}
	}
	return nil
}

// addEvent encodes one event with the next numbers of the run.
func addEvent(c *store.Commit, p fcmp.Payload) error {
	c.Run.Seq++
	c.Run.LocalSeq++
	body, err := fcmp.Encode(fcmp.Header{
		RunID: c.Run.ID, Seq: c.Run.Seq, TS: c.Run.UpdatedAt, Engine: c.Run.Engine, Attempt: c.Run.Attempt,
		LocalSeq: c.Run.LocalSeq,
	}, p)
	if err != nil {
		return fmt.Errorf("lifecycle: event %d of run %s: %w", c.Run.Seq, c.Run.ID, err)
	}
	c.Events = append(c.Events, store.Event{Seq: c.Run.Seq, Body: body})
	return nil
}
