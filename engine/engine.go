package engine

import (
	"context"

	"github.com/interlude-go/interlude/interaction"
)

// Engine executes the turns of an agent.
//
// RunTurn executes one attempt up to its next durable boundary: the turn's end. It returns evidence
// and never decides what becomes of the run. It must return soon after ctx is canceled, with every
// process that it started for the turn ended; context.Cause(ctx) says why (ErrCanceled, ErrStale,
// ErrTurnTimeout, ErrShutdown). A turn that the agent failed is an Outcome with a failed Process
// and a nil error; a non-nil error says that the engine itself could not do its work and is treated
// as a failed process with the code that AsFailure finds in it. A panic in RunTurn is recovered by
// the caller and treated as such an error, and so is a runtime.Goexit. RunTurn is called
// concurrently for different runs, and never concurrently for one run.
//
// What RunTurn returns after ctx has ended is no success any more. When it has not returned 10
// s after that, the turn is settled without it, and its goroutine keeps its place in the process
// until it returns. The optional interfaces are treated alike: their calls have their own limits (a
// minute for Reap and End, 10 s for Check, and for End at a shutdown), and are left behind 2 s
// after those.
type Engine interface {
	// Profile says how this engine continues after a wait. It is probed: an engine looks at what is
	// installed, and gives the reason. It is called before the first turn of a run and may be
	// cached.
	Profile(ctx context.Context) (Profile, error)
	// RunTurn executes one attempt.
	RunTurn(ctx context.Context, t Turn, s Sink) (Outcome, error)
}

// Profile is an engine's way to continue after a wait and why, and how it is to be understood.
type Profile struct {
	// Kind is Resumable or StickyProcess. Without it no turn is executed: the
	// run fails with ENGINE_UNAVAILABLE.
	Kind   ProfileKind
	Reason string
	// Plain: the engine is plain code and no language model. It gets the host's prompt, replies and
	// reasons for repair as they are, without instructions; it says by Done, Questions and Output
	// what it means. Its FinalText is shown to people and never read for a signal, and its Output
	// is data, whatever its fields are called.
	Plain bool
	// Signed: the engine's agent is a language model that gets the text of Turn.Input in every
	// turn, and nothing but that. In interactive runs it is given a nonce for each attempt, and no
	// marker, question or output in its text counts without it, so that text of people, tools and
	// documents which it repeats signals nothing. The zero value is for agents that write the
	// plain forms.
	Signed bool
}

// Turn is one attempt to execute.
type Turn struct {
	RunID   string
	Attempt int    // from 1
	Epoch   uint64 // the fencing epoch of this attempt
	Mode    Mode

	// Prompt is the run's full prompt with the instructions of its mode (section H); without them
	// where the engine is plain.
	Prompt string
	// Answers are the answers that this turn goes on with; empty in the first turn. There is one
	// for each question that the turn before has asked, in their order. Of several questions some
	// may have no answer (Answer.Answered), because the others were enough to go on.
	Answers []Answer
	// Plain says that the engine is plain code, as its Profile does: Input leaves replies as they
	// are.
	Plain bool
	// Nonce is what the agent's signals of this attempt carry (Profile.Signed); empty where it has
	// none. Prompt, Input and Repair tell the agent. It is kept nowhere.
	Nonce string
	// Repair is what is wrong with the output that the agent gave a moment ago, for the agent: it
	// goes on with its session and gives the output again, in the same attempt. Empty in every
	// round but such a one; Answers are empty then. Only a run whose spec allows repair rounds has
	// them.
	Repair string
	// Session is the session to resume, nil when there is none yet. It is as the engine handed it
	// over.
	Session *SessionHandle

	// WorkDir is the agent's working folder, ArtifactDir where its artifacts go and TranscriptDir
	// where the engine may keep its raw record, a file per attempt. Absolute; they exist.
	WorkDir       string
	ArtifactDir   string
	TranscriptDir string
	// HomeDir is the run's own folder for the engine: the agent's settings and sessions, kept
	// between turns. It is not part of what the agent works on. Absolute; made before the first
	// turn, and never again once the run has a session.
	HomeDir string

	// OutputSchema is the declared JSON Schema of the output, nil when there is none.
	OutputSchema []byte
	// InputJSON is the run's input as the host has given it (Spec.Input); nil when it gave none.
	// Labels are those of the run.
	InputJSON []byte
	Labels    map[string]string
	// Clock is the host's, for engines in its process. It is nil where no lifecycle made the turn.
	Clock Clock `json:"-"`
	// History reads the run's earlier questions, for engines in the host's process. It is nil where
	// no lifecycle made the turn.
	History History `json:"-"`
	// Holds says that the run is held rather than failed for a cause that somebody can repair
	// (Failure.Repairable).
	Holds bool `json:"-"`
	// Meta is what the host has given to the run for whoever executes or observes it, such as
	// "traceparent"; nil when it gave nothing. It is no part of the prompt.
	Meta map[string]string
	// Inherited is the history that a fork has from the run that it was forked from, up to the
	// answer of its first turn; nil in all other runs. An engine that keeps all in its session need
	// not look at it.
	Inherited []Record
	// Withheld are the records of Inherited whose answers the fork does not inherit, because they
	// are approvals or because its author could not have given them. An engine that keeps answers
	// and would return one of these, for instance from a journal, asks the question again.
	Withheld []Record
}

// Input is the text that the agent is to be given now: what to repair or the answer when there is
// one, otherwise the prompt. Several answers stand in it one after the other, each with the number
// of its question. An answer comes with the nonce of the attempt. To an agent that has none, a
// reply that would be a signal if it were repeated comes as a quotation; Answers have it as
// it was written.
func (t Turn) Input() string {
	switch {
	case t.Repair != "":
		return t.Repair
	case len(t.Answers) > 0:
		text := interaction.Message(t.Answers)
		switch {
		case t.Plain:
			return text
		case t.Nonce != "":
			return text + interaction.GoOnText(t.Nonce)
		}
		return interaction.Quoted(text)
	}
	return t.Prompt
}

// GoesOn reports whether the turn goes on with what the agent was told before: by an answer, or by
// a round of repair. A first turn that is repeated after a crash may have a Session too, and does
// not go on.
func (t Turn) GoesOn() bool { return len(t.Answers) > 0 || t.Repair != "" }

// History reads the earlier questions of a run, with their answers. It may be called by several
// goroutines at a time, until the turn ends.
type History interface {
	// Records returns all of them, in their order.
	Records(ctx context.Context) ([]Record, error)
	// Record returns the question with this number. If the store fails, it reads again until ctx
	// ends.
	Record(ctx context.Context, question int) (Record, error)
}

// Sink takes what a turn reports before it ends. Each call returns once it is stored; it returns
// ErrStale when the attempt's epoch is no longer the run's (canceled, taken over), and the engine
// must then stop. A Sink is safe for concurrent use and must not be used after RunTurn returned.
type Sink interface {
	// Message stores an intermediate message of the assistant; it is an event at once.
	Message(ctx context.Context, m Message) error
	// Session stores the session handle as soon as it is known, before the turn ends.
	Session(ctx context.Context, h SessionHandle) error
	// Warn stores a diagnostic as an event.
	Warn(ctx context.Context, d Diagnostic) error
}

// Message is an intermediate message of the assistant.
type Message struct {
	Text   string
	RawRef *RawRef
}

// RawRef points into a transcript file.
type RawRef struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
}

// Checker is implemented by an engine that can say whether a handle is still good.
type Checker interface {
	// Check returns nil when the handle can be resumed, ErrHandleRefused (wrapped) when it cannot,
	// and any other error when that is not known now.
	Check(ctx context.Context, runID string, h SessionHandle) error
}

// Brancher is implemented by an engine that can branch a session, so that a run can be forked:
// the branch goes on from where the session was, and what becomes of one is not seen by the other.
// Most engines keep sessions elsewhere and hand over a name: for these, a session that has gone on
// since cannot be branched where it was.
type Brancher interface {
	// CanBranch returns nil if Branch can be expected to work, and otherwise why it cannot. It
	// looks at the handle and at AtRest; the folders are not given.
	CanBranch(ctx context.Context, p BranchPoint) error
	// Branch returns the session with which the turn t goes on: the first turn of the fork, whose
	// RunTurn is called next, with this session. The session of the point stays as it is. If the
	// turn is repeated, Branch may be called again.
	Branch(ctx context.Context, p BranchPoint, t Turn) (SessionHandle, error)
}

// BranchPoint is where a session is branched.
type BranchPoint struct {
	// RunID is the run that the session belongs to. It may be going on, or be gone.
	RunID string
	// Session is the handle as it was there. The session itself may have gone on since, unless
	// AtRest says that no turn has used it since and none will.
	Session SessionHandle
	AtRest  bool
	// Message says that the fork goes on with a message after the end of the run, which answers no
	// question.
	Message bool
	// WorkDir and HomeDir are the folders of that run; empty where they are not known or not here.
	WorkDir, HomeDir string
}

// Resident is implemented by an engine of the profile sticky_process. Such an engine keeps one
// process for all turns of a run, the run's resident process, which lives while the run waits.
type Resident interface {
	// End ends the resident process of a run, if there is one, and returns when it is gone.
	End(ctx context.Context, runID string) error
	// OnLoss registers fn. The engine calls it, from a goroutine of its own, once for each resident
	// process that ends by itself while no turn uses it. stop removes fn, which is not called after
	// stop has returned.
	OnLoss(fn func(runID string, reason error)) (stop func())
}

// Reaper is implemented by an engine that can end what a dead worker left.
type Reaper interface {
	// Reap ends the processes that an earlier worker started for the run, identified safely, and
	// returns when they are gone. It is a no-op when there are none.
	Reap(ctx context.Context, runID string) error
}

// Scoped is implemented by an engine that keeps something of runs in memory: processes, sessions.
// Two hosts may have runs of one id.
type Scoped interface {
	// Scope returns an engine for one host: what it keeps of runs is its own, and it knows nothing
	// of what others keep under the same ids. lifecycle.New calls it once for each name that the
	// engine has. What ends all that the engine keeps, a Close say, also ends what is kept for its
	// hosts.
	//
	// The argument is the engine as the host configured it. When that is another one, a type of the
	// host's that embeds this engine, Scope returns the argument: methods that the host has
	// overridden must not be lost. Such a type can have a Scope of its own.
	Scope(configured Engine) Engine
}

// ProcessCleaner is implemented by an engine that can end what dead workers left of any run. Reaper
// is called for runs that this host recovers; a run that has ended, or that another host recovered,
// is left to CleanUp.
type ProcessCleaner interface {
	// CleanUp ends the processes that dead workers of this machine left, identified safely, and
	// removes their records. A worker counts as dead only when that is certain. CleanUp is called
	// when a host begins to serve and from time to time, while turns of other runs are executed.
	// The error says what may be left.
	CleanUp(ctx context.Context) error
}
