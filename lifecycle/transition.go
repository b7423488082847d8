package lifecycle

import (
	"cmp"
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

// This file carries out what decide.go decides: it takes a transition of the contract, and makes
// the commit with the run as it becomes and the events that publish it.

// details are what a transition needs to know beside the run's record and the event. It depends on
// the event which of them matter. The zero value of a field says that it does not apply.
type details struct {
	// from is the state that the transition leaves, and event what leaves it. The transition itself
	// sets them, for the events that publish it.
	from  fsm.State
	event fsm.Event

	now   time.Time
	node  string    // who starts, parks or recovers the run
	facts fsm.Facts // about the event; those about the run come from its record

	// shutdown: the turn was interrupted by a shutdown of its host. That is no fault of the turn:
	// its repeat is not counted, and is allowed even if the limit of repeats is reached (J3).
	shutdown bool
	// handedBack: the turn's engine was not called, so the attempt does not count towards
	// MaxAttempts (J1).
	handedBack bool
	// onInterrupt is what becomes of an interrupted turn; empty: it was not interrupted.
	onInterrupt OnInterrupt

	profile     fsm.Profile           // the engine's; empty: as recorded
	session     *engine.SessionHandle // the engine's; nil: as recorded
	sessionLost bool                  // the engine has changed to a session that cannot be stored

	// code is why the run fails. Where the contract does not allow this code, endRun uses that of
	// the transition, and writes this one in front of the message.
	code     fsm.Code
	message  string // why the run fails, for a person
	warnings []interaction.Diagnostic
	final    *finalMessage
	output   []byte

	question *interaction.Question  // the question that the run asks
	siblings []interaction.Question // the questions that it asks together with that one
	rule     interaction.Rule       // when the run goes on that has asked them together
	answer   *interaction.Answer    // the answer that settles a question, or a vote
	// furtherAnswers are the automatic decisions with which a deadline settles the siblings.
	furtherAnswers []interaction.Answer
	settled        []interaction.Record // of the questions that the event closes, by their numbers

	voted   bool                  // a person has voted
	changed *interaction.Question // the new form of an open question; nil: no question changes
	change  string                // what somebody has changed about it, such as changeClaim

	passing   *passingFailure // the failure after which the turn is retried later; nil: no retry
	hold      *hold           // why the run is held from now on; nil: no hold begins
	sleep     time.Time       // until when the run sleeps; zero: it does not sleep
	await     *store.Block    // the children that the run waits for; nil: it does not wait for any
	unblocked string          // the cause for which a hold ends; empty: no hold ends
	actor     Actor           // who ended the hold or changed the question

	recovery store.RecoveryState // what recovery does to the run; empty: it has no part in this
	reason   string              // of a recovery or a cancel
}

// finalMessage is the assistant's last message of a turn.
type finalMessage struct {
	text      string
	truncated bool
	ref       *engine.RawRef
}

// factIf is the fact if it holds, and no fact otherwise.
func factIf(holds bool, fact fsm.Facts) fsm.Facts {
	if holds {
		return fact
	}
	return 0
}

// factsOf are the facts that the run's record and the details give together.
func factsOf(r *store.Run, d *details) fsm.Facts {
	repeatable := r.Repeatable || d.onInterrupt == Repeat
	repeatsExhausted := repeatable && r.Repeats >= cmp.Or(r.MaxRepeats, DefaultMaxRepeats)
	if d.passing != nil {
		repeatsExhausted = r.Repeats >= d.passing.retry.Max
	}
	attempts := r.Attempt - r.Yielded
	if d.handedBack {
		attempts--
	}
	return d.facts |
		factIf(r.Slot, fsm.FactSlotHeld) |
		factIf(r.Mode == fsm.ModeInteractive, fsm.FactInteractive) |
		factIf(cmp.Or(d.profile, r.Profile) == fsm.ProfileStickyProcess, fsm.FactSticky) |
		factIf((r.HasSession() || d.session != nil) && !d.sessionLost, fsm.FactHandlePresent) |
		factIf(r.Strict && !d.facts.Has(fsm.FactOwnWait), fsm.FactStrict) |
		factIf(r.AutoDecisions < r.MaxAutoDecisions, fsm.FactAutoDecisionLeft) |
		factIf(repeatable, fsm.FactRepeatable) |
		factIf(r.MaxAttempts > 0 && attempts >= r.MaxAttempts, fsm.FactAttemptsExhausted) |
		factIf(repeatsExhausted && !d.shutdown && d.hold == nil && !d.sleepsOrAwaits(), fsm.FactRepeatsExhausted) |
		factIf(r.Held(), fsm.FactHeld) |
		factIf(r.Budget.Spent(), fsm.FactBudgetSpent)
}

// transition finds the contract's transition for the event, in the run's state and with these
// facts, and returns its commit: the run as it stands afterwards, and the events in the contract's
// order. A run that would start another turn next, and has used up its budget, is held in the same
// commit; one that waits for its children is held when it goes on (decideGoOn). The error is a
// *fsm.Refusal if the contract has no such transition.
func transition(run *store.Run, event fsm.Event, d *details) (*store.Commit, error) {
	row, err := fsm.Next(run.State, event, factsOf(run, d))
	if err != nil {
		return nil, err
	}
	c := newCommit(run)
	c.Settled = d.settled
	next := &c.Run
	now := notEarlier(d.now, run.UpdatedAt)
	next.Version++
	next.UpdatedAt = now
	next.State = row.To
	next.Block = nil // unless a function below sets it
	if d.voted {
		next.Votes++
	}
	if d.profile != "" {
		next.Profile = d.profile
	}
	if d.session != nil {
		next.Session = d.session
	}
	for _, w := range d.warnings {
		next.Warnings = withWarning(next.Warnings, w.Code)
	}
	if d.recovery != "" {
		next.Recovery, next.RecoveredAt, next.RecoveryReason = d.recovery, notEarlier(now, run.RecoveredAt), d.reason
	}
	switch {
	case row.Event == fsm.EventInteractionRecorded && d.changed == nil:
		recordReply(next, run, d, now)
	case d.changed != nil:
		changeQuestion(next, run, d)
	case row.To == run.State:
		changeBlock(next, d, now)
	default:
		enterState(next, run, &row, d, now)
	}
	d.from, d.event = run.State, row.Event
	err = addTransitionEvents(c, row.Emits, d)
	if err == nil && next.State == fsm.StateQueued && !next.Held() && !next.AwaitsChildren() && next.Budget.Spent() {
		err = holdForBudget(c)
	}
	return c, err
}

// changeBlock carries out a transition that does not change the state: it begins or ends a hold.
func changeBlock(next *store.Run, d *details, now time.Time) {
	if d.hold != nil {
		holdRun(next, d.hold, now)
	} else {
		unblock(next, d.unblocked)
	}
}

// enterState sets what the new state implies, so that state, slot, question and deadline always
// agree.
func enterState(next, prev *store.Run, row *fsm.Transition, d *details, now time.Time) {
	if row.Slot == fsm.SlotRelease {
		next.Slot = false
	}
	next.Pending, next.Siblings, next.Deadline = nil, nil, time.Time{} // unless openQuestions sets them
	setFamilyDue(next, time.Time{})                                    // unless queueForChildren or endRun sets it
	switch row.To {
	case fsm.StateQueued:
		enterQueue(next, row.Event, d, now)
		if prev.Held() {
			keepBlock(next, prev.Block, now)
		}
	case fsm.StateRunning:
		next.Attempt++
		next.LocalSeq = 0
		next.Budget = countTurn(next.Budget, 1)
	case fsm.StateWaitingUser:
		next.Owner = d.node
		next.Answer, next.Repeats, next.Holds = nil, 0, 0
		openQuestions(next, d, now)
	default:
		endRun(next, row, d, now)
	}
}

// enterQueue puts the run into the queue: with the answer to its question, or for its turn to be
// executed again.
func enterQueue(next *store.Run, event fsm.Event, d *details, now time.Time) {
	next.QueuedAt = now
	if !next.Slot {
		next.Owner = ""
	}
	if d.passing != nil {
		putOff(next, d.passing, now)
	}
	if d.hold != nil {
		holdRun(next, d.hold, now)
	}
	if !d.sleep.IsZero() {
		putToSleep(next, d.sleep)
	}
	if d.await != nil {
		queueForChildren(next, d.await, now)
	}
	if d.handedBack && next.MaxAttempts > 0 { // otherwise nobody counts, and the record keeps its first form
		next.Yielded++
	}
	if event == fsm.EventRestartRequeue && !d.shutdown {
		next.Repeats++
		next.NotBefore = now.Add(repeatBackoff(next.Repeats))
	}
	if d.answer != nil {
		if next.Together == nil {
			next.Answer = d.answer
		}
		countAutoDecision(next, d.answer, now)
	}
}

// repeatBackoff is how long a turn that lost its worker stays in the queue: one second after the
// first loss in a row, and twice as long after each further one, up to a minute. Other runs are
// executed meanwhile (J3).
func repeatBackoff(repeats int) time.Duration {
	return min(time.Second<<min(repeats-1, 6), time.Minute)
}

// endRun sets what a run has when it has ended.
func endRun(next *store.Run, row *fsm.Transition, d *details, now time.Time) {
	next.FinishedAt = now
	next.Slot, next.Owner, next.Answer, next.Together = false, "", nil, nil
	setFamilyDue(next, now)
	if d.final != nil {
		next.FinalText = d.final.text
	}
	switch row.To {
	case fsm.StateSucceeded:
		next.Output, next.Repeats, next.Holds = d.output, 0, 0
	case fsm.StateCanceled:
		next.CancelReason = d.reason
		next.Error = &store.Failure{Code: row.Error, Message: cmp.Or(utf8Text(d.message), "canceled")}
	default:
		code, message := row.Error, d.message
		switch {
		case row.Allows(d.code):
			code = d.code
		case d.code != "":
			message = shortened(strings.TrimSuffix(string(d.code)+": "+message, ": "))
		}
		next.Error = &store.Failure{Code: code, Message: cmp.Or(utf8Text(message), string(code))}
	}
}

// withWarning returns the codes and one more, unless it is there already, or is an engine's own and
// there are maxOwnWarnings. It does not change the given slice.
func withWarning(codes []fsm.Warning, code fsm.Warning) []fsm.Warning {
	if slices.Contains(codes, code) || (code.Own() && len(codes) >= maxOwnWarnings) {
		return codes
	}
	return append(slices.Clip(codes), code)
}

// addTransitionEvents adds the events that the contract lists for a transition, in its order.
func addTransitionEvents(c *store.Commit, listed []fsm.Emission, d *details) error {
	c.Events = slices.Grow(c.Events, len(listed)+len(d.warnings))
	for _, e := range listed {
		if err := d.addEvents(c, e.Type); err != nil {
			return err
		}
	}
	return nil
}

// addEvents adds the events of one type, of which a transition may have none or several.
func (d *details) addEvents(c *store.Commit, kind string) error {
	switch kind {
	case fcmp.TypeStarted:
		return addEvent(c, started(&c.Run))
	case fcmp.TypeStateChanged:
		return addEvent(c, d.stateChanged(&c.Run))
	case fcmp.TypeReplyAccepted:
		return addEvent(c, replyAccepted(d.answer))
	case fcmp.TypeAutoDecided:
		return d.addAutoDecided(c)
	case fcmp.TypeInputRequired:
		return addInputRequired(c)
	case fcmp.TypeRecorded:
		return addEvent(c, d.recorded())
	case fcmp.TypeClosed:
		return addClosed(c)
	case fcmp.TypeDefaultTaken:
		return addEvent(c, defaultTaken(&d.settled[0].Question, d.answer))
	case fcmp.TypeReminder:
		return d.addStep(c, interaction.Remind)
	case fcmp.TypeEscalated:
		return d.addStep(c, interaction.Escalate)
	case fcmp.TypeChanged:
		return addEvent(c, d.changedEvent())
	case fcmp.TypeYielded:
		return addEvent(c, yielded(&c.Run))
	case fcmp.TypeBlocked:
		return addEvent(c, blocked(&c.Run))
	case fcmp.TypeUnblocked:
		return addEvent(c, &fcmp.Unblocked{Cause: d.unblocked, Actor: d.actor.ID, Via: d.actor.Via})
	case fcmp.TypeMessageFinal:
		if f := d.final; f != nil {
			return addEvent(c, &fcmp.MessageFinal{Text: f.text, Truncated: f.truncated, RawRef: (*fcmp.RawRef)(f.ref)})
		}
		return nil
	case fcmp.TypeWarning:
		for _, w := range d.warnings {
			if err := addEvent(c, warning(w)); err != nil {
				return err
			}
		}
		return nil
	}
	panic("lifecycle: the contract lists an event of type " + kind + ", which is not known here")
}

// addEvent encodes one event, with the next sequence numbers of the run.
func addEvent(c *store.Commit, p fcmp.Payload) error {
	c.Run.Seq++
	c.Run.LocalSeq++
	h := fcmp.Header{
		RunID: c.Run.ID, Seq: c.Run.Seq, TS: c.Run.UpdatedAt, Engine: c.Run.Engine, Attempt: c.Run.Attempt,
		LocalSeq: c.Run.LocalSeq,
	}
	err := c.AddEvent(h.Seq, func(to []byte) ([]byte, error) { return fcmp.Append(to, h, p) })
	if err != nil {
		return fmt.Errorf("lifecycle: event %d of run %s: %w", c.Run.Seq, c.Run.ID, err)
	}
	return nil
}

func started(r *store.Run) *fcmp.Started {
	return &fcmp.Started{
		Mode: string(r.Mode), InteractiveRequireUserReply: r.Strict, SessionTimeoutSec: seconds(r.SessionTimeout),
		MaxAttempt: max(r.MaxAttempts, 0), MaxAutoDecisions: r.MaxAutoDecisions, Pool: r.Pool, Parent: r.Parent(),
		ContractVersion: r.Contract, ForkedFrom: forkedFrom(r.ForkedFrom), AsksAgain: asksAgain(r.ForkedFrom),
	}
}

func forkedFrom(p *store.ForkPoint) *fcmp.ForkedFrom {
	if p == nil {
		return nil
	}
	return &fcmp.ForkedFrom{RunID: p.RunID, InteractionID: p.Question}
}

func (d *details) stateChanged(r *store.Run) *fcmp.StateChanged {
	change := &fcmp.StateChanged{
		From: string(d.from), To: string(r.State), Trigger: string(d.event), UpdatedAt: r.UpdatedAt,
	}
	if r.Pending != nil {
		change.PendingInteractionID = r.Pending.ID
	}
	if r.State.Terminal() {
		change.Terminal = &fcmp.Terminal{Status: string(r.State), Warnings: make([]string, len(r.Warnings))}
		for i, code := range r.Warnings {
			change.Terminal.Warnings[i] = string(code)
		}
		if r.Error != nil {
			change.Terminal.Error = &fcmp.Failure{Code: string(r.Error.Code), Message: r.Error.Message}
		}
	}
	return change
}

func replyAccepted(a *interaction.Answer) *fcmp.ReplyAccepted {
	return &fcmp.ReplyAccepted{
		InteractionID: a.ID, ResolutionMode: string(a.Resolution), AcceptedAt: a.AcceptedAt, Actor: a.Actor,
		Decision: string(a.Decision), Digest: a.Digest, Via: a.Via,
	}
}

func autoDecided(a *interaction.Answer, r *store.Run) *fcmp.AutoDecided {
	return &fcmp.AutoDecided{
		InteractionID: a.ID, ResolutionMode: string(a.Resolution), Policy: string(a.Auto.Policy),
		AcceptedAt: a.AcceptedAt, TimeoutSec: seconds(r.SessionTimeout),
	}
}

// addAutoDecided adds an event for each question that the deadline has decided.
func (d *details) addAutoDecided(c *store.Commit) error {
	first := autoDecided(d.answer, &c.Run)
	if q := &d.settled[0].Question; q.Wait != nil {
		first.TimeoutSec = secondsOpen(q)
	}
	if err := addEvent(c, first); err != nil {
		return err
	}
	for i := range d.furtherAnswers {
		if err := addEvent(c, autoDecided(&d.furtherAnswers[i], &c.Run)); err != nil {
			return err
		}
	}
	return nil
}

// addClosed adds an event for each question that the commit closes without an answer.
func addClosed(c *store.Commit) error {
	for i := range c.Settled {
		r := &c.Settled[i]
		if r.Resolution != interaction.Superseded {
			continue
		}
		err := addEvent(c, &fcmp.Closed{InteractionID: r.Question.ID, ResolutionMode: string(r.Resolution),
			ClosedAt: r.ResolvedAt})
		if err != nil {
			return err
		}
	}
	return nil
}

// addInputRequired adds an event for each question that the run waits with.
func addInputRequired(c *store.Commit) error {
	if err := addEvent(c, inputRequired(&c.Run, c.Run.Pending)); err != nil {
		return err
	}
	for i := range c.Run.Siblings {
		if err := addEvent(c, inputRequired(&c.Run, &c.Run.Siblings[i])); err != nil {
			return err
		}
	}
	return nil
}

func inputRequired(r *store.Run, q *interaction.Question) *fcmp.InputRequired {
	rule, _ := fsm.Wait(r.Profile, r.Strict)
	asked := &fcmp.InputRequired{
		InteractionID: q.ID, Kind: string(q.Kind), Prompt: q.Prompt, RequiredFields: q.RequiredFields,
		UIHints: q.UIHints, Context: q.Context, DefaultDecisionPolicy: string(q.DefaultPolicy), AskedAt: q.AskedAt,
		Profile: string(r.Profile), OnDeadline: string(rule.OnDeadline), WaitDeadlineAt: r.Deadline,
	}
	for _, o := range q.Options {
		asked.Options = append(asked.Options, fcmp.Option{Label: o.Label, Value: o.Value})
	}
	if s := q.Subject; s != nil {
		asked.Subject = &fcmp.Subject{Tool: s.Tool, Arguments: string(s.Arguments), Title: s.Title, Risk: s.Risk}
	}
	if len(q.Schema) > 0 || q.Subject != nil {
		asked.Schema, asked.AlsoText, asked.Digest = string(q.Schema), q.AlsoText, q.Digest()
	}
	if to := q.To; to != nil {
		asked.To = audience(to)
	}
	if q.DecidedBySeveral() {
		asked.Need, asked.Rejects = max(q.Need, 1), max(q.Rejects, 1)
	}
	if q.Wait != nil {
		addOwnWait(asked, q)
	}
	if t := r.Together; t != nil {
		asked.Together = &fcmp.Together{Questions: t.Asked, Answers: t.Rule.Needs(t.Asked),
			StopOnReject: t.Rule.StopOnReject}
	}
	return asked
}

func yielded(r *store.Run) *fcmp.Yielded {
	y := &fcmp.Yielded{
		Code: string(r.Block.Code), Message: r.Block.Reason, Retry: r.Repeats, NotBefore: r.Block.Until,
	}
	if r.Block.Kind == store.BlockSleep || r.AwaitsChildren() {
		y.Retry = 0
	}
	if r.Held() {
		y.Retry, y.Choices = r.Holds, choiceTexts(r.Block)
	}
	return y
}

func intermediate(text string, truncated bool, ref *engine.RawRef) *fcmp.MessageIntermediate {
	return &fcmp.MessageIntermediate{Text: text, Truncated: truncated, RawRef: (*fcmp.RawRef)(ref)}
}

func warning(d interaction.Diagnostic) *fcmp.Warning {
	detail, _ := bounded(d.Detail, maxDetail)
	return &fcmp.Warning{Code: string(d.Code), Detail: detail}
}

func seconds(d time.Duration) int { return int(d / time.Second) }
