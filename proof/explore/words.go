package explore

// place is a state of the contract, or none.
type place uint8

const (
	nowhere place = iota
	queued
	running
	waiting
	succeeded
	failed
	canceled
)

var placeNames = placeNamesArray[:]

var placeNamesArray = [...]string{"nowhere", "queued", "running", "waiting_user", "succeeded", "failed", "canceled"}

func (p place) String() string { return placeNames[p] }

// happening is an event of the contract.
type happening uint8

const (
	turnStarted happening = iota
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
	happenings // their number
)

var happeningNames = [happenings]string{
	"turn.started", "turn.needs_input", "turn.succeeded", "turn.failed", "interaction.reply.accepted",
	"interaction.auto_decide.timeout",
	"interaction.wait.timeout", "interaction.process.lost", "run.canceled", "restart.preserve_waiting",
	"restart.reconcile_failed", "restart.requeue",
}

func (h happening) String() string { return happeningNames[h] }

// facts are those that hold.
type facts uint32

const (
	slotHeld facts = 1 << iota
	interactive
	sticky
	handlePresent
	pendingMatches
	deadlinePassed
	strict
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
)

var factNames = []string{
	"slot_held", "interactive", "sticky", "handle_present", "pending_matches", "deadline_passed", "strict",
	"auto_decision_left", "worker_gone",
	"context_lost", "repeatable", "attempts_exhausted", "process_ok", "done_marker", "question_asked",
	"schema_declared", "output_valid", "schema_permissive",
	"not_done_said", "repeats_exhausted",
}

// when returns the fact if it holds.
func when(is bool, fact facts) facts {
	if is {
		return fact
	}
	return 0
}

// settlement says how a question was settled.
type settlement uint8

const (
	unsettled settlement = iota
	byAda                // by a reply with a key
	byBen                // by a reply without
	byNobody             // automatically
	abandoned            // the run ended
)

var settlementNames = []string{"open", "answered by ada", "answered by ben", "decided automatically", "abandoned"}

func (s settlement) String() string { return settlementNames[s] }

// answered reports whether a turn has something to go on with.
func (s settlement) answered() bool { return s == byAda || s == byBen || s == byNobody }
