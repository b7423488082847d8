package decide

import (
	"cmp"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// effects describe the effects of a contract event on a run: one struct for each family of events.
// A zero field has no effect. The structs are values, since pointers would be allocations.
type effects struct {
	now   time.Time
	facts fsm.Facts // about the event; factsOf adds facts about the record

	turn    turnEnd    // events that end a turn
	asks    asking     // turn.needs_input
	yields  yielding   // turn.yielded
	lost    lostTurn   // restart.requeue, restart.reconcile_failed
	settles settlement // events that close questions, or record a vote
	edits   edit       // events that change an open question
	hold    holdChange // run.blocked, run.unblocked
	ends    ending     // events that end the run

	// Set by transition, for state.changed: the state before, and the event.
	from  fsm.State
	event fsm.Event
}

// turnEnd is the part of a turn's result that is always recorded.
type turnEnd struct {
	profile     fsm.Profile           // empty: as recorded
	session     *engine.SessionHandle // nil: as recorded
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
	rule     interaction.Rule       // when the run continues
	hideFor  time.Duration          // HostDefaults.HideFor
	recall   bool                   // HostDefaults.Recall
}

// yielding is why a turn returns its run to the queue. Exactly one field is set.
type yielding struct {
	failure *transientFailure // the turn is retried later
	hold    *hold             // the run is held
	sleep   time.Time         // the run sleeps until then
	await   *store.Block      // the run waits for its children
}

type transientFailure struct {
	retry   *store.Retry
	after   time.Duration // the engine's least pause
	code    fsm.Code
	message string
}

type hold struct {
	code    fsm.Code
	reason  string
	retried bool          // automatically, after a pause; otherwise a person must decide
	after   time.Duration // the least pause
}

// lostTurn describes a turn that was interrupted or lost its worker.
type lostTurn struct {
	onInterrupt store.OnInterrupt // its policy; empty: not interrupted
	shutdown    bool              // the host shut down
	handedBack  bool              // the engine was not called: the attempt does not count towards MaxAttempts
	nodeDied    bool              // counts as a loss (store.Run.Losses)
}

// excused reports whether the turn is not to blame: its repeat is not counted, and is allowed even at
// the limit.
func (l *lostTurn) excused() bool { return l.shutdown || l.handedBack }

// settlement has the answers to questions, and the closed questions.
type settlement struct {
	answers []interaction.Answer // one reply or vote, or a deadline's automatic decisions
	records []interaction.Record // of the closed questions, by number
	vote    bool                 // the answer is a vote

	remembers *interaction.Memory // the new remembered decision
	refused   string              // the tool of a call refused by the host's policy
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

// holdChange begins or ends a hold; the run's state stays.
type holdChange struct {
	begins   *hold             // nil: a hold ends
	endCause string            // such as causeResumed
	by       interaction.Actor // who ends it
}

// The causes of a hold's end, as events name them.
const (
	causeResumed  = "resumed"
	causeDue      = "due"
	causeRepaired = "repaired"
	causeRaised   = "raised"
)

type ending struct {
	code     fsm.Code // a code that the contract does not allow here becomes a part of the message
	message  string   // for a person
	reason   string   // of a recovery or a cancel
	recovery store.RecoveryState
}

// afterSuccess reports whether the turn succeeded: the run sleeps or waits for children.
func (y *yielding) afterSuccess() bool { return !y.sleep.IsZero() || y.await != nil }

func factIf(holds bool, fact fsm.Facts) fsm.Facts {
	if holds {
		return fact
	}
	return 0
}

// factsOf returns the facts that follow from the record and the effects.
func factsOf(r *store.Run, e *effects) fsm.Facts {
	repeatable := r.Repeatable || e.lost.onInterrupt == store.InterruptRepeat
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
		factIf(r.AutoDecisions < r.MaxAutoDecisions, fsm.FactAutoDecisionLeft) |
		factIf(repeatable, fsm.FactRepeatable) |
		factIf(r.MaxAttempts > 0 && attempts >= r.MaxAttempts, fsm.FactAttemptsExhausted) |
		factIf(repeatsExhausted(r, e, repeatable), fsm.FactRepeatsExhausted) |
		factIf(r.Held(), fsm.FactHeld) |
		factIf(r.Budget.Spent(), fsm.FactBudgetSpent)
}

func repeatsExhausted(r *store.Run, e *effects, repeatable bool) bool {
	switch {
	case e.lost.excused(), e.yields.hold != nil, e.yields.afterSuccess():
		return false
	case e.yields.failure != nil:
		return r.Repeats >= e.yields.failure.retry.Max
	}
	return repeatable && r.Repeats >= maxRepeats(r)
}

func maxRepeats(r *store.Run) int { return cmp.Or(r.MaxRepeats, store.DefaultMaxRepeats) }
