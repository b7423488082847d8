package explore

// State is one state of the system: the run's record, its events, the nodes, the commands that are
// being executed, and how many faults there were. It has no version numbers: all that matters of a
// version is whether the record that somebody has read is still current, and each reader's view
// says that.
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
	// Rival says that another run holds the pool's only slot.
	Rival bool
	// Faults is how many things broke.
	Faults uint8
	// Begun has a bit for each epoch whose turn was started.
	Begun uint16
	// Given is 1 + the answer that the last claim gave to its turn; 0 before the first claim, and
	// after a turn that was put off, held or handed back, which gives its answer back.
	Given uint8

	// StaleRun is the outdated record that StaleReader has read. The two are used only where a
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
	// Yielded is how many of the attempts were put off, held or handed back.
	Yielded uint8
	// Held: the run does not go on before somebody ends its block. Raisable: it is held for its
	// budget. Spent: the budget is used up.
	Held, Raisable, Spent bool
	// Pending is the open question, Deadline the one whose deadline is stored, and Answer the one
	// whose accepted answer waits for its turn to end; 0 for none.
	Pending, Deadline, Answer uint8
	// Autos counts automatic decisions.
	Autos uint8
	// Session: the record has a session handle. Profile: the engine was asked for its profile.
	Session, Profile bool
	Settled          [MaxQuestions]settlement
}

// owner is 0 for none, 1 + a node's index for the node under its present id, and former for an id
// that is not in use any more. No id is used again.
type owner uint8

const former owner = 255

// view says whether the record that somebody has read is still the stored one.
type view uint8

const (
	current view = iota
	stale
	landed // a worker's: only its own commit was stored since
)

// phase says what a node's worker does.
type phase uint8

const (
	idle        phase = iota
	granted           // its claim was stored, the acknowledgement did not come yet
	executing         // its engine executes the turn
	unconfirmed       // it sent the outcome, the acknowledgement did not come
	resending         // the outcome was not stored, and is to be sent once more
)

// Node is a process that executes runs: its registration in the store, and its own memory.
type Node struct {
	Up bool
	// Registered: the store has its id. A node that is up and not registered lost its lease and
	// has not noticed yet.
	Registered bool
	// Lapsed: its lease ran out by the store's clock, and nobody has expired it yet.
	Lapsed bool
	// Resident: it holds the process of a sticky run.
	Resident bool
	Phase    phase
	Epoch    uint8 // of its worker
	View     view  // of its worker
	// Outcome is what a worker wants to store that is unconfirmed or resending.
	Outcome eventKind
	// Dropped is the epoch of a turn that ended on the node without a stored outcome.
	Dropped uint8
	// Late is the epoch of a claim whose turn was started before the claim was acknowledged; see
	// the switch ClaimPending.
	Late uint8
	// Sent is a commit of its worker that may still arrive, or never.
	Sent Sent
	// Upkeep is what its deadlines, its recovery or its watch over resident processes are about
	// to store.
	Upkeep Command
}

// Sent is a commit on its way to the store; Epoch 0 stands for none.
type Sent struct {
	Epoch   uint8
	Outcome eventKind
	View    view
	// Former: it was sent under an id that the node does not have any more.
	Former bool
}

// task is what a command is to do.
type task uint8

const (
	noTask task = iota
	reply
	cancel
	fireDeadline
	recoverOrphan
	reportLoss
	resume
)

// Command is a command between the time it read the record and its commit.
type Command struct {
	Task task
	// ID is the question that it is about. For recoverOrphan it is 1 when the session was refused,
	// and 2 when the run is to be held; for resume it is the choice, choseRepeat (which raises a
	// budget, where the run is held for that) or choseEnd.
	ID   uint8
	View view
}

// What ID stands for.
const (
	holdOrphan  = 2
	choseRepeat = 1
	choseEnd    = 2
)

// actor is who acts or holds a view: 0 for nobody, then users, workers, commits on their way, and
// the upkeep of nodes.
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
