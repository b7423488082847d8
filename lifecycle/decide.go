package lifecycle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// change is a transition that somebody wants, and what it brings.
type change struct {
	event fsm.Event
	facts fsm.Facts // those that the record does not tell
	now   time.Time

	node string // who starts, parks or recovers the run

	// the turn was interrupted by a shutdown of its host: that is no fault of its own, and neither
	// counts as a repeat nor needs one that is left
	orderly bool

	code     fsm.Code // overrides the transition's error code
	message  string
	warnings []engine.Diagnostic
	final    *finalMessage

	session  *store.Session
	profile  fsm.Profile
	question *interaction.Question
	answer   *interaction.Answer
	settled  *interaction.Record
	output   []byte

	recovery store.RecoveryState
	reason   string // of a recovery or a cancel
}

// finalMessage is the assistant's last message of a turn.
type finalMessage struct {
	text      string
	truncated bool
	ref       *engine.RawRef
}

// facts are what a record tells about itself.
func facts(r *store.Run) fsm.Facts {
	var f fsm.Facts
	set := func(is bool, fact fsm.Facts) {
		if is {
			f |= fact
		}
	}
	set(r.Slot, fsm.FactSlotHeld)
	set(r.Mode == fsm.ModeInteractive, fsm.FactInteractive)
	set(r.Profile == fsm.ProfileStickyProcess, fsm.FactSticky)
	set(r.Session != nil, fsm.FactHandlePresent)
	set(r.Strict, fsm.FactStrict)
	set(r.AutoDecisions < r.MaxAutoDecisions, fsm.FactAutoDecisionLeft)
	set(r.Repeatable, fsm.FactRepeatable)
	set(r.MaxAttempts > 0 && r.Attempt >= r.MaxAttempts, fsm.FactAttemptsExhausted)
	set(r.Repeatable && r.Repeats >= cmp.Or(r.MaxRepeats, DefaultMaxRepeats), fsm.FactRepeatsExhausted)
	return f
}

// factsOf are what the record and the change tell together. A shutdown in good order uses up no
// repeat, so it asks for none that is left (J3).
func (ch *change) factsOf(r *store.Run) fsm.Facts {
	f := facts(r) | ch.facts
	if ch.orderly {
		f &^= fsm.FactRepeatsExhausted
	}
	return f
}

// transition is the one place that turns a decision into a commit: the record as it will stand and
// the events that tell of it, in the contract's order. It is pure. The error is a *fsm.Refusal or a
// *contract.SchemaViolation; nothing of the change is kept then (A7, F7). Records and changes are
// large, so they are passed by reference; neither is changed.
func transition(prev *store.Run, ch *change) (store.Commit, error) {
	c := store.Commit{Run: *prev, Expect: prev.Version, Settled: ch.settled}
	next := &c.Run
	if ch.profile != "" {
		next.Profile = ch.profile
	}
	if ch.session != nil {
		next.Session = ch.session
	}
	row, err := fsm.Next(prev.State, ch.event, ch.factsOf(next))
	if err != nil {
		return store.Commit{}, err
	}
	now := notBefore(ch.now, prev.UpdatedAt)
	next.Version++
	next.UpdatedAt = now
	next.State = row.To
	for _, w := range ch.warnings {
		next.Warnings = warned(next.Warnings, w.Code)
	}
	if ch.recovery != "" {
		next.Recovery, next.RecoveredAt, next.RecoveryReason = ch.recovery, now, ch.reason
	}
	enter(next, prev, &row, ch, now)
	err = emit(&c, row.Emits, &teller{from: prev.State, event: row.Event, ch: ch})
	return c, err
}

// enter sets what the new state implies, so that state, slot, question and deadline always agree.
func enter(next, prev *store.Run, row *fsm.Transition, ch *change, now time.Time) {
	if row.Slot == fsm.SlotRelease {
		next.Slot = false
	}
	if prev.State == fsm.StateWaitingUser && row.To != fsm.StateWaitingUser {
		next.Pending, next.Deadline = nil, time.Time{}
	}
	switch row.To {
	case fsm.StateQueued:
		next.QueuedAt = now
		if !next.Slot {
			next.Owner = ""
		}
		if row.Event == fsm.EventRestartRequeue && !ch.orderly {
			next.Repeats++
			next.NotBefore = now.Add(backoff(next.Repeats))
		}
		if ch.answer != nil {
			next.Answer = ch.answer
			if ch.answer.Resolution == interaction.AutoDecideTimeout {
				next.AutoDecisions++
				next.LastAutoDecisionAt = now
			}
		}
	case fsm.StateRunning:
		next.Attempt++
		next.LocalSeq = 0
	case fsm.StateWaitingUser:
		next.Owner = ch.node
		if ch.question != nil {
			next.Answer, next.Repeats = nil, 0
			ask(next, *ch.question, now)
		}
	default:
		finish(next, row, ch, now)
	}
}

// backoff is how long a turn that lost its worker stays in the queue, by how often that happened in
// a row: one second, and twice as long each time, up to a minute. So the other runs go first (J3).
func backoff(repeats int) time.Duration {
	return min(time.Second<<min(repeats-1, 6), time.Minute)
}

// ask makes the question the run's pending one, with the deadline that the waiting policy gives it.
func ask(next *store.Run, q interaction.Question, now time.Time) {
	next.Interactions++
	q.ID, q.Attempt, q.AskedAt = next.Interactions, next.Attempt, now
	next.Pending = &q
	if rule, ok := fsm.Wait(next.Profile, next.Strict); ok && rule.OnDeadline != fsm.DeadlineKeepWaiting {
		next.Deadline = now.Add(next.SessionTimeout)
	}
}

// finish sets the terminal fields.
func finish(next *store.Run, row *fsm.Transition, ch *change, now time.Time) {
	next.FinishedAt = now
	next.Slot, next.Owner, next.Answer = false, "", nil
	if ch.final != nil {
		next.FinalText = ch.final.text
	}
	switch row.To {
	case fsm.StateSucceeded:
		next.Output, next.Repeats = ch.output, 0
	case fsm.StateCanceled:
		next.CancelReason = ch.reason
		next.Error = &store.Failure{Code: row.Error, Message: orText(utf8Text(ch.message), "canceled")}
	default:
		code, message := row.Error, ch.message
		switch {
		case row.Allows(ch.code):
			code = ch.code
		case ch.code != "": // one that the contract does not have here counts as the transition's
			message = shortened(strings.TrimSuffix(string(ch.code)+": "+message, ": "))
		}
		next.Error = &store.Failure{Code: code, Message: orText(utf8Text(message), string(code))}
	}
}

// utf8Text makes a text that may hold an engine's or a store's own words one that every store keeps
// as it is.
func utf8Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func orText(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// begun says how a run begins.
var begun = fsm.Begin()

// submission is the commit that creates a run.
func submission(r store.Run, spec []byte) (store.Commit, error) {
	r.Version = 1
	c := store.Commit{Run: r, Spec: spec}
	err := emit(&c, begun.Emits, &teller{ch: &change{}})
	return c, err
}

// report is a commit of a running turn that changes no state: messages, diagnostics, the session
// handle.
func report(prev *store.Run, now time.Time, session *store.Session, events ...telling) (store.Commit, error) {
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
		if code, isWarning := e.data["code"].(string); isWarning { // a message has none
			c.Run.Warnings = warned(c.Run.Warnings, fsm.Warning(code))
		}
		if err := tell(&c, e.kind, e.data); err != nil {
			return store.Commit{}, err
		}
	}
	return c, nil
}

// warned are the codes with one more, unless they have it, or many of engines' own. They share
// nothing that is changed.
func warned(codes []fsm.Warning, code fsm.Warning) []fsm.Warning {
	if slices.Contains(codes, code) || (code.Own() && len(codes) >= maxOwnWarnings) {
		return codes
	}
	return append(slices.Clip(codes), code)
}

// emit adds the events of a transition in the contract's order.
func emit(c *store.Commit, emits []fsm.Emission, t *teller) error {
	c.Events = make([]store.Event, 0, len(emits)+len(t.ch.warnings))
	for _, e := range emits {
		if err := t.tell(c, e.Type); err != nil {
			return err
		}
	}
	return nil
}

// tell encodes one event with the next numbers of the run.
func tell(c *store.Commit, kind string, data map[string]any) error {
	c.Run.Seq++
	c.Run.LocalSeq++
	body, err := contract.Encode(contract.Header{
		RunID: c.Run.ID, Seq: c.Run.Seq, TS: c.Run.UpdatedAt, Engine: c.Run.Engine, Attempt: c.Run.Attempt,
		LocalSeq: c.Run.LocalSeq,
	}, kind, data)
	if err != nil {
		return fmt.Errorf("lifecycle: event %d of run %s: %w", c.Run.Seq, c.Run.ID, err)
	}
	c.Events = append(c.Events, store.Event{Seq: c.Run.Seq, Body: body})
	return nil
}

// statusCodes are the codes of a process that names none.
var statusCodes = map[engine.Status]fsm.Code{engine.Interrupted: fsm.CodeTurnInterrupted,
	engine.TimedOut: fsm.CodeTurnTimeout}

// verdict puts the turn's evidence before the completion gate.
func (t *turn) verdict(o engine.Outcome) change {
	run, profile := t.stored()
	ev := weigh(t.spec, run, profile, t.spoken(), o)
	rule := fsm.Decide(ev.facts)
	ch := change{
		event: rule.Outcome, facts: ev.facts, code: rule.Error, profile: profile, session: ev.session,
		warnings: ev.warnings, final: ev.final, output: ev.reading.Output,
	}
	for _, w := range rule.Warnings {
		ch.warnings = append(ch.warnings, engine.Diagnostic{Code: w})
	}
	switch rule.Outcome {
	case fsm.EventTurnNeedsInput:
		ch.question = &ev.question
		ch.warnings = append(ch.warnings, ev.asking...)
	case fsm.EventTurnFailed:
		ch.message = ev.reason(rule)
		if o.Process.Status != engine.OK {
			ch.code = cmp.Or(o.Process.Code, statusCodes[o.Process.Status])
		}
	}
	return ch
}

// lostAgent is what becomes of a turn whose agent was ended by somebody else while its host lives:
// a repeatable one is treated as if its worker were lost (E4, J3), any other has failed.
func (t *turn) lostAgent(otherwise change) change {
	run, _ := t.stored()
	ch := broken(&run, false, orText(otherwise.message, "the agent was interrupted"))
	if ch.event == fsm.EventRestartRequeue || facts(&run).Has(fsm.FactRepeatsExhausted) {
		ch.session = otherwise.session
		return ch
	}
	return otherwise
}

// broken is what becomes of a turn that its own node ended, or that lost its agent: back to the
// queue where it may be repeated. In good order is a shutdown of the host, which is no fault of the
// turn and uses up none of its repeats (J3).
func broken(run *store.Run, orderly bool, why string) change {
	ch := change{
		event: fsm.EventRestartRequeue, facts: fsm.FactWorkerGone, orderly: orderly,
		warnings: []engine.Diagnostic{{Code: fsm.WarnTurnRepeated, Detail: why}},
	}
	if allowed(run, &ch) {
		return ch
	}
	if !orderly {
		why = unrepeated(run, why)
	}
	return change{event: fsm.EventRestartReconcileFailed, facts: fsm.FactWorkerGone, orderly: orderly, message: why}
}

// allowed reports whether the run may take the transition.
func allowed(run *store.Run, ch *change) bool {
	_, err := fsm.Next(run.State, ch.event, ch.factsOf(run))
	return err == nil
}

// unrepeated says why a turn is not executed again, for a person.
func unrepeated(run *store.Run, why string) string {
	if facts(run).Has(fsm.FactRepeatsExhausted) {
		return shortened(fmt.Sprintf("%s; it was repeated %d times in a row, which is the limit", why, run.Repeats))
	}
	return why
}

// expire is what a passed deadline makes of a waiting run (section D).
func expire(run Run, now time.Time) (store.Commit, error) {
	if run.Pending == nil {
		return store.Commit{}, errors.New("lifecycle: run has a deadline and no question")
	}
	passed := !run.Deadline.After(now)
	now = notBefore(now, run.UpdatedAt)
	ch := change{event: fsm.EventInteractionWaitTimeout, facts: fsm.FactPendingMatches, now: now}
	if passed {
		ch.facts |= fsm.FactDeadlinePassed
	}
	rule, _ := fsm.Wait(run.Profile, run.Strict)
	if rule.OnDeadline == fsm.DeadlineAutoDecide && facts(&run).Has(fsm.FactAutoDecisionLeft) {
		answer := interaction.NewAutoDecision(*run.Pending).Answer(now)
		record := interaction.Settle(*run.Pending, answer, "", "")
		ch.event, ch.answer, ch.settled = fsm.EventInteractionAutoDecideTimeout, &answer, &record
	} else {
		ch.settled = abandoned(&run, now)
		ch.message = "nobody replied within " + run.SessionTimeout.String()
	}
	return transition(&run, &ch)
}

// abandoned closes the record of the open question of a run that ends, if it has one.
func abandoned(run *Run, at time.Time) *interaction.Record {
	if run.Pending == nil {
		return nil
	}
	r := interaction.Abandon(*run.Pending, at)
	return &r
}
