package engine

import (
	"context"

	"github.com/interlude-go/interlude/interaction"
)

// Engine executes the turns of an agent.
//
// RunTurn executes one attempt up to the turn's end, and returns evidence. After ctx is canceled it
// must return soon and end all processes of the turn; context.Cause(ctx) is ErrCanceled, ErrStale,
// ErrTurnTimeout or ErrShutdown. If the agent fails, it returns an Outcome with a failed Process
// and a nil error; a non-nil error means that the engine itself failed, with the code that
// AsFailure finds in it. So do a panic and runtime.Goexit. RunTurn is called concurrently for
// different runs, never for one run.
//
// A result returned after ctx has ended never counts as success. After 10 s the turn is settled
// without RunTurn, whose goroutine occupies its place in the process until it returns. Calls of the
// optional interfaces have their own limits (a minute for Reap and End, 10 s for Check, and for End
// at a shutdown), and are abandoned 2 s later.
type Engine interface {
	// Profile reports how this engine continues after a wait, and why. It may probe the installed
	// program. It is called before a run's first turn and may be cached.
	Profile(ctx context.Context) (Profile, error)
	// RunTurn executes one attempt.
	RunTurn(ctx context.Context, t Turn, s Sink) (Outcome, error)
}

// Profile is an engine's way to continue after a wait, with the reason, and how to read its
// results.
type Profile struct {
	// Kind is Resumable or StickyProcess. Without it the run fails with ENGINE_UNAVAILABLE.
	Kind   ProfileKind
	Reason string
	// Plain declares plain code, not a language model. It gets the host's prompt, replies and
	// reasons for repair unchanged, and signals by Done, Questions and Output. Its FinalText is
	// shown to people and never parsed; its Output is data, whatever its field names.
	Plain bool
	// Signed: the agent is a language model that gets the text of Turn.Input in every turn, and
	// nothing else. In interactive runs it gets a nonce for each attempt; markers, questions and
	// outputs in its text count only with it, so that repeated text of people, tools and documents
	// signals nothing. The zero value is for agents that write the plain forms.
	Signed bool
}

// Turn is one attempt to execute.
type Turn struct {
	RunID   string
	Attempt int    // from 1
	Epoch   uint64 // the fencing epoch of this attempt
	Mode    Mode

	// Prompt is the run's full prompt with the instructions of its mode; without them for a plain
	// engine.
	Prompt string
	// Answers are the answers with which this turn continues: one per question of the previous
	// turn, in order; empty in the first turn. Some may be unanswered (Answer.Answered) if the
	// others met the rule.
	Answers []Answer
	// Plain is Profile.Plain: Input leaves replies unchanged.
	Plain bool
	// Nonce marks the agent's signals of this attempt (Profile.Signed), or is empty. It is part of
	// Prompt, Input and Repair, and is not stored.
	Nonce string
	// Repair says why the previous output was invalid; set only in repair rounds, if the spec
	// allows them. The agent continues its session and returns the output again, in the same
	// attempt. Answers are empty then.
	Repair string
	// Session is the session to resume, exactly as the engine returned it, or nil.
	Session *SessionHandle

	// WorkDir is the agent's working folder, ArtifactDir for its artifacts, and TranscriptDir for
	// the engine's raw record, a file per attempt. Absolute; they exist.
	WorkDir       string
	ArtifactDir   string
	TranscriptDir string
	// HomeDir is the run's folder for the engine: the agent's settings and sessions, kept between
	// turns, separate from its working folder. It is absolute, is created before the first turn,
	// and is not recreated once the run has a session.
	HomeDir string

	// OutputSchema is the declared JSON Schema of the output, or nil.
	OutputSchema []byte
	// InputJSON is the run's input (Spec.Input), or nil. Labels are the run's labels.
	InputJSON []byte
	Labels    map[string]string
	// Clock is the host's, for engines in its process; nil without a lifecycle.
	Clock Clock `json:"-"`
	// History reads the run's earlier questions, for engines in the host's process; nil without a
	// lifecycle.
	History History `json:"-"`
	// Holds reports whether the run is held instead of failed for a repairable cause
	// (Failure.Repairable).
	Holds bool `json:"-"`
	// Meta is the host's data about the run, such as "traceparent", or nil. It is not part of the
	// prompt.
	Meta map[string]string
	// Inherited is the history that a fork has from its source, up to the answer of the fork's
	// first turn; nil for other runs. Engines need it if their session does not contain the
	// history.
	Inherited []Record
	// Withheld are the records of Inherited whose answers the fork does not inherit: approvals, and
	// answers that its author could not have given. An engine that keeps answers must ask these
	// questions again.
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
// turn that is repeated after a crash may have a Session, too, but does not.
func (t Turn) GoesOn() bool { return len(t.Answers) > 0 || t.Repair != "" }

// History reads a run's earlier questions and answers. It is safe for concurrent use until the turn
// ends.
type History interface {
	// Records returns all, in order.
	Records(ctx context.Context) ([]Record, error)
	// Record returns the question with this number. It retries store failures until ctx ends.
	Record(ctx context.Context, question int) (Record, error)
}

// Sink stores reports of a turn before its end. Each call returns after the report is stored, or
// with ErrStale if the attempt's epoch is no longer the run's (canceled, taken over); the engine
// must then stop. A Sink is safe for concurrent use and must not be used after RunTurn returned.
type Sink interface {
	// Message stores an intermediate message of the assistant as an event.
	Message(ctx context.Context, m Message) error
	// Session stores the session handle as soon as it is known.
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

// Checker is implemented by an engine that can check handles.
type Checker interface {
	// Check returns nil if the handle can be resumed, ErrHandleRefused (wrapped) if it cannot, and
	// any other error if that is unknown now.
	Check(ctx context.Context, runID string, h SessionHandle) error
}

// Brancher is implemented by engines that can branch a session, so that runs can be forked: later
// changes to session or branch do not affect the other. A session kept elsewhere under a name
// cannot be branched once it was used again.
type Brancher interface {
	// CanBranch returns why Branch cannot be expected to work, or nil. It gets no folders.
	CanBranch(ctx context.Context, p BranchPoint) error
	// Branch returns the session for t, the fork's first turn, and does not change the point's
	// session; RunTurn is called next. It may be called again if the turn is repeated.
	Branch(ctx context.Context, p BranchPoint, t Turn) (SessionHandle, error)
}

// BranchPoint is where a session is branched.
type BranchPoint struct {
	// RunID is the session's run, active or pruned.
	RunID string
	// Session is the handle at that point. The session may have been used since, unless AtRest says
	// that no turn has used it and none will.
	Session SessionHandle
	AtRest  bool
	// Message says that the fork continues after the end of the run with a message that answers no
	// question.
	Message bool
	// WorkDir and HomeDir are that run's folders; empty if unknown or elsewhere.
	WorkDir, HomeDir string
}

// Resident is implemented by engines with the profile sticky_process, which keep one process for
// all turns of a run, also while the run waits.
type Resident interface {
	// End ends a run's resident process, if any, and returns when it is gone.
	End(ctx context.Context, runID string) error
	// OnLoss registers fn. The engine calls it on a separate goroutine, once for each resident
	// process that exits between turns. stop removes fn, which is not called after stop has
	// returned.
	OnLoss(fn func(runID string, reason error)) (stop func())
}

// Reaper is implemented by engines that can end the processes of a dead worker.
type Reaper interface {
	// Reap ends the processes that an earlier worker started for the run, identified safely, and
	// returns when they are gone. Without any it does nothing.
	Reap(ctx context.Context, runID string) error
}

// Scoped is implemented by an engine that keeps data of runs in memory, such as processes or
// sessions: two hosts may have runs with one id.
type Scoped interface {
	// Scope returns an engine for one host whose data of runs is separate from other hosts' data
	// under the same ids. lifecycle.New calls it once for each name of the engine. Closing the
	// engine also closes its scopes.
	//
	// configured is the engine as the host configured it. If it is a host's type that embeds this
	// engine, Scope returns it, so that overridden methods are not lost. Such types may implement
	// Scope themselves.
	Scope(configured Engine) Engine
}

// ProcessCleaner is implemented by an engine that can end processes of dead workers of any run.
// Reap is called for runs that this host recovers; processes of ended runs, or of runs that another
// host recovered, are left to CleanUp.
type ProcessCleaner interface {
	// CleanUp ends the processes that dead workers of this machine left, identified safely, and
	// removes their records. A worker must be certainly dead. It is called when a host begins to
	// serve and from time to time, while turns of other runs execute. The error says what may be
	// left.
	CleanUp(ctx context.Context) error
}
