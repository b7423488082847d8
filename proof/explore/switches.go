package explore

import "slices"

// Switch is one guard of the protocol. If a guard is switched off, the protocol takes the same
// steps without this check.
type Switch uint8

const (
	// The compare-and-sets: a commit is stored only if the version that it is based on is current.

	VersionReply    Switch = iota // for a person's reply
	VersionCancel                 // for a cancel
	VersionDeadline               // for a passed deadline
	VersionRecovery               // for recovery
	VersionLoss                   // for the loss of a resident process
	VersionResume                 // for a decision about a held run
	VersionChange                 // for a claim, its return, and an end that is moved
	VersionFinish                 // for a worker's outcome
	VersionCreate                 // for a submission: no run has the id

	// The checks of the fence and of a claim.

	FenceRegistered // a worker's node is registered
	FenceNode       // a worker's node owns the run
	FenceEpoch      // a worker has the run's epoch
	ClaimState      // only a queued run is claimed
	ClaimHeld       // no held run is claimed
	ClaimRegistered // only a registered node claims
	ClaimCapacity   // a claim needs a free slot
	ClaimHolder     // only its owner claims a run that has a slot
	ClaimEpoch      // each claim raises the epoch

	// The parts of one commit: the record with its slot, question, deadline, answer and receipt,
	// and the events.

	CommitEvents   // the events are stored with the state
	CommitSlot     // the slot is released together with the change of state
	CommitReceipt  // the settled question is stored with the state
	CommitDeadline // the deadline is removed together with its question
	CommitAnswer   // the answer is stored with the state

	// The checks of users, deadlines, leases, workers and recovery.

	ReplyPending    // a reply must name the pending question
	ReplyKey        // a reply first looks for a question that was settled with its key
	ReplyClaim      // no other user answers or claims a claimed question
	ReplyVoted      // no user votes twice
	ReplyAsked      // no user outside the new audience answers or claims a reassigned question
	DeadlinePassed  // only deadlines that have passed fire
	LeaseEnded      // only leases that ran out, and leases of dead nodes, expire
	RecoverOrphans  // only orphans are recovered
	RestartID       // a restarted node has a new id
	OutcomeChecked  // after a missing acknowledgement, the worker checks whether the outcome was stored
	DroppedSettled  // the node settles a turn that it dropped, and does not start it again
	ClaimPending    // a node starts no worker for a run whose claim may still be acknowledged
	RecoverRunning  // recovery settles running runs
	RecoverAnswered // recovery settles queued runs that have a slot

	switches // the number of switches
)

var switchNames = [switches]string{
	VersionReply:    "version.reply",
	VersionCancel:   "version.cancel",
	VersionDeadline: "version.deadline",
	VersionRecovery: "version.recovery",
	VersionLoss:     "version.loss",
	VersionResume:   "version.resume",
	VersionChange:   "version.change",
	VersionFinish:   "version.finish",
	VersionCreate:   "version.create",
	FenceRegistered: "fence.registered",
	FenceNode:       "fence.node",
	FenceEpoch:      "fence.epoch",
	ClaimState:      "claim.state",
	ClaimHeld:       "claim.held",
	ClaimRegistered: "claim.registered",
	ClaimCapacity:   "claim.capacity",
	ClaimHolder:     "claim.holder",
	ClaimEpoch:      "claim.epoch",
	CommitEvents:    "commit.events",
	CommitSlot:      "commit.slot",
	CommitReceipt:   "commit.receipt",
	CommitDeadline:  "commit.deadline",
	CommitAnswer:    "commit.answer",
	ReplyPending:    "reply.pending",
	ReplyKey:        "reply.key",
	ReplyClaim:      "reply.claim",
	ReplyVoted:      "reply.voted",
	ReplyAsked:      "reply.asked",
	DeadlinePassed:  "deadline.passed",
	LeaseEnded:      "lease.ended",
	RecoverOrphans:  "recover.orphans",
	RestartID:       "restart.id",
	OutcomeChecked:  "outcome.checked",
	DroppedSettled:  "dropped.settled",
	ClaimPending:    "claim.pending",
	RecoverRunning:  "recover.running",
	RecoverAnswered: "recover.answered",
}

func (s Switch) String() string { return switchNames[s] }

// Switches returns all switches.
func Switches() []Switch {
	all := make([]Switch, switches)
	for i := range all {
		all[i] = Switch(i)
	}
	return all
}

// SwitchNamed finds a switch by its name.
func SwitchNamed(name string) (s Switch, ok bool) {
	i := slices.Index(switchNames[:], name)
	return Switch(max(i, 0)), i >= 0
}
