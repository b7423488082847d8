package engine

import (
	"context"

	"github.com/interlude-go/interlude/interaction"
)

// Engine executes the turns of an agent.
//
// RunTurn executes one attempt up to its next durable boundary, the turn's end. It returns evidence
// and never decides the run's fate. After ctx is canceled it must return soon and end all processes
// of the turn; context.Cause(ctx) is ErrCanceled, ErrStale, ErrTurnTimeout or ErrShutdown. If the
// agent fails, it returns an Outcome with a failed Process and a nil error; a non-nil error means
// that the engine itself failed, with the code that AsFailure finds in it. A panic or
// runtime.Goexit in RunTurn counts as such a failure. RunTurn is called concurrently for different
// runs, never for one run.
//
// A result returned after ctx has ended never counts as success. After 10 s the turn is settled
// without RunTurn, whose goroutine occupies its place in the process until it returns. Calls of the
// optional interfaces have their own limits (a minute for Reap and End, 10 s for Check, and for End
// at a shutdown), and are abandoned 2 s later.
type Engine interface {
	// Profile reports how this engine continues after a wait. An engine probes the installed
	// program and gives the reason. It is called before the first turn of a run and may be cached.
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
	// Plain declares plain code, not a language model. It gets the host's prompt, replies and
	// reasons for repair unchanged, without instructions, and signals by Done, Questions and
	// Output. Its FinalText is shown to people and never parsed for signals; its Output is data,
	// whatever its field names.
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
	// Answers are the answers with which this turn continues; empty in the first turn. There is one
	// per question of the previous turn, in order. Some may be unanswered (Answer.Answered) if the
	// others met the rule.
	Answers []Answer
	// Plain says that the engine is plain code, as its Profile does: Input leaves replies as they
	// are.
	Plain bool
	// Nonce marks the agent's signals of this attempt (Profile.Signed); empty without one. It is
	// part of Prompt, Input and Repair, and is not stored.
	Nonce string
	// Repair says why the previous output was invalid; set only in repair rounds. The agent
	// continues its session and returns the output again, in the same attempt. Answers are empty
	// then. Runs have repair rounds only if their spec allows it.
	Repair string
	// Session is the session to resume, exactly as the engine returned it; nil if there is none.
	Session *SessionHandle

	// WorkDir is the agent's working folder, ArtifactDir where its artifacts go and TranscriptDir
	// where the engine may keep its raw record, a file per attempt. Absolute; they exist.
	WorkDir       string
	ArtifactDir   string
	TranscriptDir string
	// HomeDir is the run's folder for the engine: the agent's settings and sessions, kept between
	// turns. It is separate from the agent's working folder. It is absolute, is created before the
	// first turn, and is not recreated once the run has a session.
	HomeDir string

	// OutputSchema is the declared JSON Schema of the output; nil without one.
	OutputSchema []byte
	// InputJSON is the run's input (Spec.Input); nil without one. Labels are the run's labels.
	InputJSON []byte
	Labels    map[string]string
	// Clock is the host's, for engines in its process. It is nil where no lifecycle made the turn.
	Clock Clock `json:"-"`
	// History reads the run's earlier questions, for engines in the host's process. It is nil where
	// no lifecycle made the turn.
	History History `json:"-"`
	// Holds reports whether the run is held instead of failed for a repairable cause
	// (Failure.Repairable).
	Holds bool `json:"-"`
	// Meta is the host's data for executing and observing the run, such as "traceparent"; nil
	// without any. It is not part of the prompt.
	Meta map[string]string
	// Inherited is the history that a fork has from the run that it was forked from, up to the
	// answer of its first turn; nil in all other runs. An engine that keeps all in its session need
	// not look at it.
	Inherited []Record
	// Withheld are the records of Inherited whose answers the fork does not inherit, because they
	// are approvals or because its author could not have given them. An engine that keeps answers,
	// for instance in a journal, must ask these questions again.
	Withheld []Record
}

// Input returns the text to send: the repair request, else the answers, else the prompt. Several
// answers are listed with the numbers of their questions. An answer carries the attempt's nonce.
// Without a nonce, a reply that looks like a signal is quoted; Answers has the original.
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

// GoesOn reports whether the turn continues a conversation, by an answer or a repair round. A first
// turn that is repeated after a crash may have a Session too, and does not.
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

// Sink stores reports of a turn before its end. Each call returns after the report is stored. It
// returns ErrStale if the attempt's epoch is no longer the run's (canceled, taken over); the engine
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

// Brancher is implemented by engines that can branch a session, so that runs can be forked: the
// branch continues from the session's state, and later changes to one do not affect the other.
// Engines whose sessions are kept elsewhere, under a name, cannot branch a session that has been
// used since.
type Brancher interface {
	// CanBranch returns nil if Branch can be expected to work, and otherwise why it cannot. It
	// looks at the handle and at AtRest; the folders are not given.
	CanBranch(ctx context.Context, p BranchPoint) error
	// Branch returns the session for t, the first turn of the fork; RunTurn is called next, with
	// this session. The session of the point does not change. If the turn is repeated, Branch may
	// be called again.
	Branch(ctx context.Context, p BranchPoint, t Turn) (SessionHandle, error)
}

// BranchPoint is where a session is branched.
type BranchPoint struct {
	// RunID is the run of the session. It may be active or pruned.
	RunID string
	// Session is the handle at that point. The session may have been used since, unless AtRest says
	// that no turn has used it and none will.
	Session SessionHandle
	AtRest  bool
	// Message says that the fork continues after the end of the run with a message that answers no
	// question.
	Message bool
	// WorkDir and HomeDir are the folders of that run; empty where they are not known or not here.
	WorkDir, HomeDir string
}

// Resident is implemented by engines with the profile sticky_process. They keep one process for all
// turns of a run, the resident process, which stays alive while the run waits.
type Resident interface {
	// End ends the resident process of a run, if there is one, and returns when it is gone.
	End(ctx context.Context, runID string) error
	// OnLoss registers fn. The engine calls it on a separate goroutine, once for each resident
	// process that exits between turns. stop removes fn, which is not called after stop has
	// returned.
	OnLoss(fn func(runID string, reason error)) (stop func())
}

// Reaper is implemented by engines that can end the processes of a dead worker.
type Reaper interface {
	// Reap ends the processes that an earlier worker started for the run, identified safely, and
	// returns when they are gone. It is a no-op when there are none.
	Reap(ctx context.Context, runID string) error
}

// Scoped is implemented by an engine that keeps something of runs in memory: processes, sessions.
// Two hosts may have runs of one id.
type Scoped interface {
	// Scope returns an engine for one host whose data of runs is separate from other hosts' data
	// under the same ids. lifecycle.New calls it once for each name of the engine. Closing the
	// engine also closes its scopes.
	//
	// The argument is the engine as the host configured it. If it is a type of the host that embeds
	// this engine, Scope returns the argument, so that overridden methods are not lost. Such types
	// may implement Scope themselves.
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
