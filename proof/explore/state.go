package explore

// State is one state of the system: the run's record, what was told of it, the nodes, the commands
// that are under way, and what may still break. It has no version numbers: what matters of a
// version is whether what somebody has read is still current, and that each reader's view says.
type State struct {
	Run Run
	// Log sums up the events that were stored.
	Log Log
	// Due says that the deadline in the record has passed, by the clock that all agree on.
	Due   bool
	Nodes [MaxNodes]Node
	// Users are the commands of ada, who replies with a key, and of ben, who replies without one
	// and cancels.
	Users [2]Op
	// Rival says that another run holds the pool's only slot.
	Rival bool
	// Faults is how many things broke.
	Faults uint8
	// Begun has a bit for each epoch whose turn was begun.
	Begun uint16
	// Given is 1 + the answer that the last claim took up, 0 before the first.
	Given uint8

	// Kept is the record as a stale reader knows it, and Keeper that reader. It matters only where
	// a compare-and-set is taken away.
	Kept   Run
	Keeper actor
}

// Run is the stored record, as far as anything depends on it.
type Run struct {
	State place
	Slot  bool
	Owner owner
	Epoch uint8
	// Attempt and Asked count turns and questions.
	Attempt, Asked uint8
	// Pending and Deadline name a question, Answer the one whose answer is accepted and not yet
	// executed to the end; 0 for none.
	Pending, Deadline, Answer uint8
	// Autos counts automatic decisions.
	Autos uint8
	// Session: a handle is known. Profile: the engine was asked for it.
	Session, Profile bool
	Settled          [MaxQuestions]settlement
}

// owner is 0 for none, 1 + a node's index for its present membership, and former for one that is
// over: no id is used again.
type owner uint8

const former owner = 255

// view says how what somebody has read stands to what is stored.
type view uint8

const (
	current view = iota
	stale
	landed // a worker's: its own commit was made since, and nothing else
)

// phase says what a node's worker does.
type phase uint8

const (
	idle      phase = iota
	granted         // a claim was stored, its acknowledgement is on its way
	executing       // the engine works
	unsure          // the outcome was sent, the answer did not come
	again           // it was not stored, and is to be sent again
)

// Node is a process that executes runs: what the store knows of it, and what it knows itself.
type Node struct {
	Up bool
	// Registered: the store knows its id. Up and not registered, it was taken for dead and does not
	// know it.
	Registered bool
	// Lapsed: its lease ran out by the store's clock, and nobody has acted on that.
	Lapsed bool
	// Resident: it holds the process of a sticky run.
	Resident bool
	Phase    phase
	Epoch    uint8 // of its worker
	View     view  // of its worker
	// Outcome is what an unsure worker wants to store.
	Outcome happening
	// Dropped is the epoch of a turn that ended here without an outcome that was stored.
	Dropped uint8
	// Late is the epoch of a claim that was manned before it was acknowledged; see the switch
	// man.waits.
	Late uint8
	// Sent is a commit of its worker that may still arrive, or never.
	Sent Sent
	// Upkeep is what its sweeper, its recovery or its watch over resident processes is about to
	// store.
	Upkeep Op
}

// Sent is a commit on its way; Epoch 0 is none.
type Sent struct {
	Epoch   uint8
	Outcome happening
	View    view
	// Former: it was sent under an id that the node has no more.
	Former bool
}

// task is what a command wants.
type task uint8

const (
	nothing task = iota
	reply
	cancel
	sweep
	recovery
	loss
)

// Op is a command between its look at the record and its commit.
type Op struct {
	Task task
	// ID is the question that it is about; of a recovery, 1 when the session was refused.
	ID   uint8
	View view
}

// actor names who holds a view: 0 nobody, then users, workers, what they sent, and upkeep.
type actor uint8

func user(i int) actor   { return actor(1 + i) }
func worker(i int) actor { return actor(10 + i) }
func sender(i int) actor { return actor(20 + i) }
func upkeep(i int) actor { return actor(30 + i) }

// registered reports whether the owner is a node that the store knows.
func (s *State) registered(o owner) bool {
	return o != 0 && o != former && s.Nodes[o-1].Registered
}

// orphaned is what recovery looks for: not ended, and owned by nobody who is known.
func (m *model) orphaned(s *State) bool {
	return !m.over(&s.Run) && s.Run.Owner != 0 && !s.registered(s.Run.Owner)
}
