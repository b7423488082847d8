package decide

import (
	"cmp"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// effects describe the effects of a contract event on a run. Each family of events has a struct,
// and a decision sets only those of its event. A zero field has no effect. The structs are values,
// because a pointer to each would be an allocation.
type effects struct {
	now   time.Time
	facts fsm.Facts // about the event; those about the run come from its record

	turn    turnEnd    // events that end a turn
	asks    asking     // turn.needs_input
	yields  yielding   // turn.yielded
	lost    lostTurn   // restart.requeue, restart.reconcile_failed
	settles settlement // events that close questions, or record a vote
	edits   edit       // events that change an open question
	block   blocking   // run.blocked, run.unblocked
	ends    ending     // events that end the run

	// from is the state that the transition leaves, and event is the event. The transition sets them,
	// for the events that publish it.
	from  fsm.State
	event fsm.Event
}

// turnEnd is the part of a turn's result that is recorded in any case.
type turnEnd struct {
	profile     fsm.Profile           // the engine's; empty: as recorded
	session     *engine.SessionHandle // the engine's; nil: as recorded
	sessionLost bool                  // the engine has changed to a session that cannot be stored
	warnings    []interaction.Diagnostic
	final       *finalMessage
	output      []byte
}

// finalMessage is the assistant's last message of a turn.
type finalMessage struct {
	text      string
	truncated bool
	ref       *engine.RawRef
}

// asking has the questions with which a run parks.
type asking struct {
	node     string // that executed the turn
	question *interaction.Question
	siblings []interaction.Question // asked together with it
	rule     interaction.Rule       // when a run continues that has asked several
}

// yielding is the reason for which a turn returns its run to the queue. Exactly one field is set.
type yielding struct {
	passing *passingFailure // the turn is retried later
	hold    *hold           // the run is held
	sleep   time.Time       // the run sleeps until then
	await   *store.Block    // the run waits for its children
}

// passingFailure is a failure of a turn after which the turn is retried.
type passingFailure struct {
	retry   *store.Retry
	after   time.Duration // the least pause that the engine asks for
	code    fsm.Code
	message string
}

// hold is the reason of a hold.
type hold struct {
	code   fsm.Code
	reason string
	// retried: the run is retried automatically, after a pause and not before the time in after.
	// Otherwise a person must decide.
	retried bool
	after   time.Duration
}

// lostTurn describes a turn that was interrupted or lost its worker.
type lostTurn struct {
	onInterrupt store.OnInterrupt // the policy for it; empty: the turn was not interrupted
	// shutdown: the host shut down, which is not the turn's fault. Its repeat is not counted, and is
	// allowed even at the limit of repeats.
	shutdown bool
	// handedBack: its engine was not called, so the attempt does not count towards MaxAttempts.
	handedBack bool
	nodeDied   bool // the node that executed it has gone, which counts as a loss (store.Run.Losses)
}

// settlement has the answer to a question, and the questions that an event closes.
type settlement struct {
	answer  *interaction.Answer  // settles the question, or is a vote on it
	further []interaction.Answer // the automatic decisions with which a deadline settles the siblings
	records []interaction.Record // of the questions that are closed, by their numbers
	vote    bool                 // the answer is a vote
}

// edit is the change of an open question.
type edit struct {
	question *interaction.Question // as changed; nil: no question changes
	change   string                // the kind of change, such as changeClaim
	by       interaction.Actor
}

// The changes of an open question, as events name them.
const (
	changeExtend   = "extend"
	changeClaim    = "claim"
	changeRelease  = "release"
	changeReassign = "reassign"
)

// blocking begins or ends the hold of a run that stays in its state.
type blocking struct {
	begins *hold             // nil: no hold begins
	ends   string            // the cause for which a hold ends; empty: none ends
	by     interaction.Actor // who ends it
}

// Causes for the end of a hold, as the event run.unblocked has them.
const (
	causeResumed  = "resumed"
	causeDue      = "due"
	causeRepaired = "repaired"
	causeRaised   = "raised"
)

// ending is the reason of a run's end.
type ending struct {
	// code is the reason of a failure. If the contract does not allow it here, endRun uses the
	// transition's code and prefixes the message with this one.
	code     fsm.Code
	message  string // for a person
	reason   string // of a recovery or a cancel
	recovery store.RecoveryState
}

// isOrderly reports whether the run returns to the queue although nothing failed, because it sleeps
// or waits for its children.
func (y *yielding) isOrderly() bool { return !y.sleep.IsZero() || y.await != nil }

// factIf is the fact if it holds, and no fact otherwise.
func factIf(holds bool, fact fsm.Facts) fsm.Facts {
	if holds {
		return fact
	}
	return 0
}

// factsOf are the facts that follow from the run's record together with the effects.
func factsOf(r *store.Run, e *effects) fsm.Facts {
	repeatable := r.Repeatable || e.lost.onInterrupt == store.InterruptRepeat
	repeatsExhausted := repeatable && r.Repeats >= cmp.Or(r.MaxRepeats, store.DefaultMaxRepeats)
	if p := e.yields.passing; p != nil {
		repeatsExhausted = r.Repeats >= p.retry.Max
	}
	if e.lost.shutdown || e.yields.hold != nil || e.yields.isOrderly() {
		repeatsExhausted = false
	}
	attempts := r.Attempt - r.Yielded
	if e.lost.handedBack {
		attempts--
	}
	profile := cmp.Or(e.turn.profile, r.Profile)
	return e.facts |
		factIf(r.Slot, fsm.FactSlotHeld) |
		factIf(r.Mode == fsm.ModeInteractive, fsm.FactInteractive) |
		factIf(profile == fsm.ProfileStickyProcess, fsm.FactSticky) |
		factIf((r.HasSession() || e.turn.session != nil) && !e.turn.sessionLost, fsm.FactHandlePresent) |
		factIf(r.Strict && !e.facts.Has(fsm.FactOwnWait), fsm.FactStrict) |
		factIf(r.AutoDecisions < r.MaxAutoDecisions, fsm.FactAutoDecisionLeft) |
		factIf(repeatable, fsm.FactRepeatable) |
		factIf(r.MaxAttempts > 0 && attempts >= r.MaxAttempts, fsm.FactAttemptsExhausted) |
		factIf(repeatsExhausted, fsm.FactRepeatsExhausted) |
		factIf(r.Held(), fsm.FactHeld) |
		factIf(r.Budget.Spent(), fsm.FactBudgetSpent)
}
