package explore

import "slices"

// Switch is one guard of the protocol. With a guard switched off, the protocol does the same
// without checking.
type Switch uint8

const (
	// The compare-and-sets: a commit is stored only on the version that was read.

	VersionReply    Switch = iota // of a person's reply
	VersionCancel                 // of a cancel
	VersionDeadline               // of a passed deadline
	VersionRecovery               // of recovery
	VersionLoss                   // of the loss of a resident process
	VersionResume                 // of a decision about a held run
	VersionFinish                 // of a worker's outcome
	VersionCreate                 // of a submission: the id is free

	// The fence, and what a claim checks.

	FenceRegistered // a worker's node is registered
	FenceNode       // a worker's node owns the run
	FenceEpoch      // a worker has the run's epoch
	ClaimState      // only a queued run is claimed
	ClaimHeld       // no held run is claimed
	ClaimRegistered // only a registered node claims
	ClaimCapacity   // only a free slot is given
	ClaimHolder     // a run that has a slot is claimed only by its owner
	ClaimEpoch      // each claim raises the epoch

	// What is part of one commit: the record with its slot, question, deadline, answer and receipt,
	// and the events.

	CommitEvents   // the events are stored with the state
	CommitSlot     // the slot is freed with the state
	CommitReceipt  // the settled question is stored with the state
	CommitDeadline // the deadline goes with its question
	CommitAnswer   // the answer is stored with the state

	// What users, deadlines, leases, workers and recovery check.

	ReplyPending    // a reply names the pending question
	ReplyKey        // a key that settled a question is looked up first
	DeadlinePassed  // only deadlines that have passed fire
	LeaseEnded      // only a lease that ran out, or that of a dead node, expires
	RecoverOrphans  // only orphans are recovered
	RestartID       // a node that starts again has a new id
	OutcomeChecked  // an unacknowledged outcome is looked up, and sent once more if it was not stored
	DroppedSettled  // a turn that the node dropped is settled, and not started a second time
	ClaimPending    // a node starts no worker for a run whose claim may still be acknowledged
	RecoverRunning  // recovery settles running runs
	RecoverAnswered // recovery settles queued runs that have a slot

	switches // their number
)

var switchNames = [switches]string{
	VersionReply:    "version.reply",
	VersionCancel:   "version.cancel",
	VersionDeadline: "version.deadline",
	VersionRecovery: "version.recovery",
	VersionLoss:     "version.loss",
	VersionResume:   "version.resume",
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

// Switches are all of them.
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
