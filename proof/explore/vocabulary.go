package explore

// runState is a state of the contract, or none.
type runState uint8

const (
	nowhere runState = iota
	queued
	running
	waiting
	succeeded
	failed
	canceled
)

var runStateNames = runStateNamesArray[:]

var runStateNamesArray = [...]string{"nowhere", "queued", "running", "waiting_user", "succeeded", "failed", "canceled"}

func (p runState) String() string { return runStateNames[p] }

// eventKind is an event of the contract.
type eventKind uint8

const (
	turnStarted eventKind = iota
	turnNeedsInput
	turnSucceeded
	turnFailed
	replyAccepted
	autoDecided
	waitTimeout
	processLost
	runCanceled
	preserveWaiting
	reconcileFailed
	requeue
	turnYielded
	runBlocked
	runUnblocked
	runGivenUp
	interactionRecorded
	interactionStep
	defaultTaken
	interactionChanged
	interactionNoted
	eventKinds // the number of events
)

var eventNames = [eventKinds]string{
	"turn.started", "turn.needs_input", "turn.succeeded", "turn.failed", "interaction.reply.accepted",
	"interaction.auto_decide.timeout",
	"interaction.wait.timeout", "interaction.process.lost", "run.canceled", "restart.preserve_waiting",
	"restart.reconcile_failed", "restart.requeue", "turn.yielded", "run.blocked", "run.unblocked", "run.given_up",
	"interaction.recorded", "interaction.step", "interaction.default.timeout", "interaction.changed",
	"interaction.noted",
}

func (h eventKind) String() string { return eventNames[h] }

// facts is the set of the facts that hold.
type facts uint32

const (
	slotHeld facts = 1 << iota
	interactive
	sticky
	handlePresent
	pendingMatches
	deadlinePassed
	autoDecisionLeft
	workerGone
	contextLost
	repeatable
	attemptsExhausted
	processOK
	doneMarker
	questionAsked
	schemaDeclared
	outputValid
	schemaPermissive
	notDoneSaid
	repeatsExhausted
	passing
	heldFact
	budgetSpent
	ruleMet
	ownWait
	waitFails
	waitDecides
)

var factNames = []string{
	"slot_held", "interactive", "sticky", "handle_present", "pending_matches", "deadline_passed",
	"auto_decision_left", "worker_gone",
	"context_lost", "repeatable", "attempts_exhausted", "process_ok", "done_marker", "question_asked",
	"schema_declared", "output_valid", "schema_permissive",
	"not_done_said", "repeats_exhausted", "passing", "held", "budget_spent",
	"rule_met", "own_wait", "wait_fails", "wait_decides",
}

// when returns the fact if it holds, and the empty set otherwise.
func when(is bool, fact facts) facts {
	if is {
		return fact
	}
	return 0
}

// settlement says how a question was settled.
type settlement uint8

const (
	unsettled     settlement = iota
	byAda                    // by a reply with a key
	byBen                    // by a reply without a key
	byBoth                   // by the votes of both
	rejectedByAda            // by a vote of ada's, or of ben's after ada's
	rejectedByBen            // only by a vote of ben's
	byDeadline               // automatically
	byDefault                // by the default answer
	abandoned                // the run ended
	superseded               // the run continued without an answer
)

var settlementNames = []string{"open", "answered by ada", "answered by ben", "decided by both",
	"rejected, and ada has voted", "rejected by ben",
	"decided automatically", "settled by default", "abandoned", "superseded"}

func (s settlement) String() string { return settlementNames[s] }

// answered reports whether the next turn gets an answer.
func (s settlement) answered() bool { return byAda <= s && s <= byDefault }

// hasKey reports whether the key of a reply of ada's belongs to how the question was settled.
func (s settlement) hasKey() bool { return s == byAda || s == byBoth || s == rejectedByAda }
