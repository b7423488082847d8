package explore

// State is one state of the system: the run's record, its events, the nodes, the commands that are
// being executed, and the number of faults so far. It has no version numbers. A version only
// matters for the question whether the record that an actor has read is still current, and the view
// of each actor has the answer.
type State struct {
	Run Run
	// Log is a summary of the stored events.
	Log Log
	// Due says that the deadline in the record has passed. All nodes agree on that.
	Due   bool
	Nodes [MaxNodes]Node
	// Users are the commands of ada, who replies with a key, and of ben, who replies without one
	// and cancels.
	Users [2]Command
	// ClaimOver says that the time of the claim of the open question is over.
	ClaimOver bool
	// Rival says that another run holds the pool's only slot.
	Rival bool
	// Faults is the number of faults so far.
	Faults uint8
	// Begun has a bit for each epoch whose turn was started.
	Begun uint16
	// Given is 1 + the answer given to the last claim's turn. It is 0 before the first claim, and
	// after a turn that was retried later, held or returned unexecuted, because the next turn gets the
	// same answer.
	Given uint8

	// StaleRun is the outdated record that StaleReader has read. Both are used only if a
	// compare-and-set is switched off.
	StaleRun    Run
	StaleReader actor
}

// Run is the part of the stored record on which steps and promises depend.
type Run struct {
	State runState
	Slot  bool
	Owner owner
	Epoch uint8
	// Attempt and Asked count turns and questions.
	Attempt, Asked uint8
	// Yielded is the number of attempts that were retried later, held or returned unexecuted.
	Yielded uint8
	// Held: the run does not continue until its hold ends. Raisable: it is held because of its budget.
	// Spent: the budget is used up.
	Held, Raisable, Spent bool
	// Pending is the number of the open question, Deadline of the question whose deadline is stored,
	// and Answer of the question whose accepted answer is stored until the turn with it ends; 0 if
	// absent.
	Pending, Deadline, Answer uint8
	// Sibling is the number of the second open question, after Pending; 0 if absent. Replies counts
	// the replies to questions of one turn, while the run waits on.
	Sibling, Replies uint8
	// Fired counts the executed steps of the open question's wait. Voted has a bit for each user who
	// has voted on the open question. Claim is 1 + the user who has claimed it; 0 if unclaimed.
	Fired, Voted, Claim uint8
	// To has the bit of the user to whom the open question was put; 0: everybody may answer it.
	To uint8
	// Autos counts automatic decisions.
	Autos uint8
	// Session: the record has a session handle. Profile: the record has the engine's profile.
	Session, Profile bool
	Settled          [MaxQuestions]settlement
}

// owner identifies the owner of a run: 0 for none, 1 + a node's index for the node with its present
// id, and former for an id that is no longer in use. No id is used again.
type owner uint8

const former owner = 255

// view says whether the record that an actor has read is still the stored one.
type view uint8

const (
	current view = iota
	stale
	landed // of a worker: since then only its own commit was stored
)

// phase is the activity of a node's worker.
type phase uint8

const (
	idle        phase = iota
	granted           // its claim was stored, but not acknowledged yet
	executing         // its engine executes the turn
	unconfirmed       // it sent the outcome, and got no acknowledgement
	resending         // the outcome was not stored, and must be sent again
)

// Node is a process that executes runs: its registration in the store, and its own memory.
type Node struct {
	Up bool
	// Registered: the store has the node's id. A node that is up but not registered has lost its
	// lease and has not noticed yet.
	Registered bool
	// Lapsed: its lease has run out by the store's clock, and no node has expired it yet.
	Lapsed bool
	// Resident: it holds the process of a sticky run.
	Resident bool
	Phase    phase
	Epoch    uint8 // of its worker
	View     view  // of its worker
	// Outcome is the outcome of a worker that is unconfirmed or resending.
	Outcome eventKind
	// Dropped is the epoch of a turn that ended on the node without a stored outcome.
	Dropped uint8
	// Late is the epoch of a claim whose turn the node started before the claim was acknowledged;
	// see the switch ClaimPending.
	Late uint8
	// Sent is a commit of its worker that may arrive later, or be lost.
	Sent Sent
	// Upkeep is the command that its loop for deadlines, for recovery or for resident processes is
	// about to store.
	Upkeep Command
}

// Sent is a commit in transit to the store. Epoch 0 means no commit.
type Sent struct {
	Epoch   uint8
	Outcome eventKind
	View    view
	// Former: it was sent under an id that the node no longer has.
	Former bool
}

// task is the kind of a command.
type task uint8

const (
	noTask task = iota
	reply
	cancel
	fireDeadline
	recoverOrphan
	reportLoss
	resume
	extendWait
	claimQuestion
	releaseQuestion
	reassignQuestion
	noteQuestion
	rejection
)

// Command is a command that has read the record and has not made its commit yet.
type Command struct {
	Task task
	// ID is the number of the command's question. For recoverOrphan it is 1 if the session was
	// refused, and 2 if the run must be held. For resume it is the choice: choseRepeat (which
	// raises the budget of a run that is held because of it) or choseEnd.
	ID   uint8
	View view
}

// Values of Command.ID that are not questions.
const (
	holdOrphan  = 2
	choseRepeat = 1
	choseEnd    = 2
)

// actor identifies the actor or the holder of a view: 0 if none, then users, workers, commits in
// transit, and the upkeep of nodes.
type actor uint8

func user(i int) actor   { return actor(1 + i) }
func worker(i int) actor { return actor(10 + i) }
func sender(i int) actor { return actor(20 + i) }
func upkeep(i int) actor { return actor(30 + i) }

// registered reports whether the owner is a node that the store knows.
func (s *State) registered(o owner) bool {
	return o != 0 && o != former && s.Nodes[o-1].Registered
}

// orphaned reports whether the run is an orphan: it has not ended, and its owner is not registered.
func (m *model) orphaned(s *State) bool {
	return !m.over(&s.Run) && s.Run.Owner != 0 && !s.registered(s.Run.Owner)
}
