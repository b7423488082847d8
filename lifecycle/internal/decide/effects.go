package decide

import (
	"cmp"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// effects describe a contract event's effects on a run: one struct for each family of events, of
// which a decision sets its event's. A zero field has no effect. The structs are values, because
// pointers would be allocations.
type effects struct {
	now   time.Time
	facts fsm.Facts // about the event; others come from the run's record

	turn    turnEnd    // events that end a turn
	asks    asking     // turn.needs_input
	yields  yielding   // turn.yielded
	lost    lostTurn   // restart.requeue, restart.reconcile_failed
	settles settlement // events that close questions, or record a vote
	edits   edit       // events that change an open question
	block   blocking   // run.blocked, run.unblocked
	ends    ending     // events that end the run

	// from is the state before the transition, which sets both for its events.
	from  fsm.State
	event fsm.Event
}

// turnEnd is the part of a turn's result that is always recorded.
type turnEnd struct {
	profile     fsm.Profile           // the engine's; empty: as recorded
	session     *engine.SessionHandle // the engine's; nil: as recorded
	sessionLost bool                  // the engine's new session cannot be stored
	warnings    []interaction.Diagnostic
	final       *finalMessage
	output      []byte
}

type finalMessage struct {
	text      string
	truncated bool
	ref       *engine.RawRef
}

type asking struct {
	node     string // that executed the turn
	question *interaction.Question
	siblings []interaction.Question // asked together with it
	rule     interaction.Rule       // when a run with several questions continues
	hideFor  time.Duration          // HostPolicy.HideFor
}

// yielding is why a turn returns its run to the queue. Exactly one field is set.
type yielding struct {
	passing *passingFailure // the turn is retried later
	hold    *hold           // the run is held
	sleep   time.Time       // the run sleeps until then
	await   *store.Block    // the run waits for its children
}

type passingFailure struct {
	retry   *store.Retry
	after   time.Duration // the engine's least pause
	code    fsm.Code
	message string
}

type hold struct {
	code   fsm.Code
	reason string
	// retried: automatically, after a pause and not before the time in after. Otherwise a person
	// must decide.
	retried bool
	after   time.Duration
}

// lostTurn describes a turn that was interrupted or lost its worker.
type lostTurn struct {
	onInterrupt store.OnInterrupt // its policy; empty: not interrupted
	// shutdown: the host shut down, which is not the turn's fault: the repeat is not counted, and
	// is allowed even at the limit.
	shutdown bool
	// handedBack: the engine was not called, so the attempt does not count towards MaxAttempts.
	handedBack bool
	nodeDied   bool // its node has gone, which counts as a loss (store.Run.Losses)
}

// settlement has the answers to questions, and the closed questions.
type settlement struct {
	answers []interaction.Answer // one reply or vote, or a deadline's automatic decisions
	records []interaction.Record // of the closed questions, by number
	vote    bool                 // the answer is a vote
}

type edit struct {
	question *interaction.Question // as changed; nil: none
	change   string                // such as changeClaim
	by       interaction.Actor
}

// The changes of an open question, as events name them.
const (
	changeExtend   = "extend"
	changeClaim    = "claim"
	changeRelease  = "release"
	changeReassign = "reassign"
	changeAsk      = "ask" // by the host's policy
)

// blocking begins or ends a hold without a change of state.
type blocking struct {
	begins *hold             // nil: no hold begins
	ends   string            // the cause of a hold's end; empty: none ends
	by     interaction.Actor // who ends it
}

// Causes of a hold's end in the event run.unblocked.
const (
	causeResumed  = "resumed"
	causeDue      = "due"
	causeRepaired = "repaired"
	causeRaised   = "raised"
)

type ending struct {
	// code is the failure's code. If the contract does not allow it here, endRun uses the
	// transition's code and prefixes the message with this one.
	code     fsm.Code
	message  string // for a person
	reason   string // of a recovery or a cancel
	recovery store.RecoveryState
}

// isOrderly reports whether the run returns to the queue without a failure, to sleep or wait for
// children.
func (y *yielding) isOrderly() bool { return !y.sleep.IsZero() || y.await != nil }

func factIf(holds bool, fact fsm.Facts) fsm.Facts {
	if holds {
		return fact
	}
	return 0
}

// factsOf are the facts that follow from the record and the effects.
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
