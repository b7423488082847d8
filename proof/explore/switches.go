package explore

import "slices"

// Switch is one guard of the protocol. Taken away, the protocol does the same without looking.
type Switch uint8

const (
	// The compare-and-sets: a commit is made only on the version that was read.

	VersionReply    Switch = iota // of a person's reply
	VersionCancel                 // of a cancel
	VersionDeadline               // of a passed deadline
	VersionRecovery               // of recovery
	VersionLoss                   // of the loss of a resident process
	VersionFinish                 // of a worker's outcome
	VersionCreate                 // of a submission: the id is free

	// The fence, and what a claim looks at.

	FenceRegistered // a worker's node is registered
	FenceNode       // and owns the run
	FenceEpoch      // under the worker's epoch
	ClaimState      // only what is queued is claimed
	ClaimRegistered // only by nodes that are registered
	ClaimCapacity   // only into a free slot
	ClaimHolder     // a run that holds a slot, only by its owner
	ClaimEpoch      // each claim has the next epoch

	// What is one commit: the record with its slot, question, deadline, answer and receipt, and the
	// events.

	CommitEvents   // the events are stored with the state
	CommitSlot     // the slot is freed with the state
	CommitReceipt  // the settled question is stored with the state
	CommitDeadline // the deadline goes with its question
	CommitAnswer   // the answer is stored with the state

	// What users, timers, leases, workers and recovery look at.

	ReplyPending    // a reply names the pending question
	ReplyKey        // a key that settled a question is looked up first
	DeadlinePassed  // only what is due is swept
	LeaseEnded      // only who is dead or silent is expired
	RecoverOrphans  // only orphans are recovered
	RestartID       // a node comes back under another id
	WorkerLook      // an outcome of which nothing was heard is looked for, and sent again
	ManDropped      // a turn that was dropped here is not begun again
	ManWaits        // a run is not manned while its claim may be on its way
	RecoverWaiting  // recovery looks at parked runs too
	RecoverRunning  // and at running ones
	RecoverAnswered // and at queued ones that hold a slot

	switches // their number
)

var switchNames = [switches]string{
	VersionReply:    "version.reply",
	VersionCancel:   "version.cancel",
	VersionDeadline: "version.deadline",
	VersionRecovery: "version.recovery",
	VersionLoss:     "version.loss",
	VersionFinish:   "version.finish",
	VersionCreate:   "version.create",
	FenceRegistered: "fence.registered",
	FenceNode:       "fence.node",
	FenceEpoch:      "fence.epoch",
	ClaimState:      "claim.state",
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
	WorkerLook:      "worker.look",
	ManDropped:      "man.dropped",
	ManWaits:        "man.waits",
	RecoverWaiting:  "recover.waiting",
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
