package lifecycle

import (
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// Errors of calls that stored nothing, for errors.Is. The types below have the details.
var (
	// ErrNotFound: no run has this id.
	ErrNotFound = store.ErrNotFound
	// ErrInvalidSpec: the specification is invalid; see SpecError.
	ErrInvalidSpec = errors.New("lifecycle: invalid spec")
	// ErrSpecConflict: the run id is taken by another specification.
	ErrSpecConflict = errors.New("lifecycle: run id belongs to another spec")
	// ErrInvalidReply: the reply is invalid, in any state or for this question; see FieldError and
	// ValueError.
	ErrInvalidReply = interaction.ErrInvalidReply
	// ErrQuestionChanged: the reply was made to another text of the question; see ChangedError.
	ErrQuestionChanged = interaction.ErrQuestionChanged
	// ErrNotAsked: the question is for others; see NotAskedError.
	ErrNotAsked = interaction.ErrNotAsked
	// ErrNotDeputy: the actor may not act for that person now; see NotDeputyError.
	ErrNotDeputy = interaction.ErrNotDeputy
	// ErrVoted: the person has voted on the approval before; see VotedError.
	ErrVoted = interaction.ErrVoted
	// ErrClaimed: another person has claimed the question; see ClaimedError.
	ErrClaimed = interaction.ErrClaimed
	// ErrReassigned: the audience differs from the one that the caller saw; see ReassignedError.
	ErrReassigned = interaction.ErrReassigned
	// ErrNotWaiting: the run has not asked this question so far; see WaitError.
	ErrNotWaiting = errors.New("lifecycle: run is not waiting for this interaction")
	// ErrSettled: the question was settled by a reply, a deadline or a cancel; see SettledError.
	ErrSettled = errors.New("lifecycle: interaction is already settled")
	// ErrKeyConflict: the idempotency key was used with another body.
	ErrKeyConflict = errors.New("lifecycle: idempotency key was used for another reply")
	// ErrTerminal: the run has ended; see TerminalError.
	ErrTerminal = errors.New("lifecycle: run has ended")
	// ErrNotHeld: the run is not held, so there is no decision to make.
	ErrNotHeld = errors.New("lifecycle: run is not held")
	// ErrRunChanged: the run has changed since the caller read it.
	ErrRunChanged = errors.New("lifecycle: run has changed")
	// ErrTooMany: a person has reached a limit, for instance MaxChanges; the text names it. The zero
	// Actor, the host, has no limits.
	ErrTooMany = store.ErrTooMany
	// ErrUnknownPool: the specification names a pool that is not configured.
	ErrUnknownPool = store.ErrUnknownPool
	// ErrPoolChanged: another caller has changed the pool; the text has its size.
	ErrPoolChanged = errors.New("lifecycle: pool has changed")
	// ErrCursorBeyondEnd: the run does not have the event of the cursor, which belongs to another run
	// or a pruned and resubmitted one, or was removed by a restore or a failover. Read from 0.
	ErrCursorBeyondEnd = errors.New("lifecycle: cursor is beyond the run's last event")
	// ErrServing: Serve is already running for this Lifecycle.
	ErrServing = errors.New("lifecycle: already serving")
	// ErrStuck: Serve has ended, but engine code has ignored its context and not returned; see
	// StuckError.
	ErrStuck = errors.New("lifecycle: engine code has not returned")
)

// Errors of calls that may have been stored: repeat the call with the same id or key. A store's
// errors have more detail, and match one of these.
var (
	// ErrUnavailable: the store does not serve the call now.
	ErrUnavailable = store.ErrUnavailable
	// ErrFull: the store has no space left.
	ErrFull = store.ErrFull
)

// SpecError names an invalid field of a Spec, with its value and the expected one.
type SpecError struct {
	Field string
	Value string
	Want  string
	Err   error
}

func (e *SpecError) Error() string {
	text := fmt.Sprintf("lifecycle: invalid spec: %s is %s, want %s", e.Field, e.Value, e.Want)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *SpecError) Is(target error) bool {
	return target == ErrInvalidSpec || target == ErrInvalidArgument
}

func (e *SpecError) Unwrap() error { return e.Err }

// WaitError: a reply names a question that the run is not waiting with.
type WaitError struct {
	RunID string
	ID    int
	State State
	// Pending is the question that the run waits with; 0 if none.
	Pending int
	// Asked is the number of questions that the run has asked.
	Asked int
	// Failure is why the run failed or was canceled, or nil.
	Failure *Failure
}

func (e *WaitError) Error() string {
	if e.Pending != 0 {
		return fmt.Sprintf("lifecycle: run %s waits for interaction %d, not for %d", e.RunID, e.Pending, e.ID)
	}
	asked := fmt.Sprintf("%d interactions", e.Asked)
	switch e.Asked {
	case 0:
		asked = "no interaction"
	case 1:
		asked = "1 interaction"
	}
	var why string
	if e.Failure != nil {
		why = fmt.Sprintf(" (%s: %s)", e.Failure.Code, e.Failure.Message)
	}
	return fmt.Sprintf("lifecycle: run %s is %s%s and has asked %s; it is not waiting for %d", e.RunID, e.State, why,
		asked, e.ID)
}

func (e *WaitError) Is(target error) bool { return target == ErrNotWaiting }

// SettledError says how the question was settled, for a late caller.
type SettledError struct {
	RunID      string
	ID         int
	Resolution Resolution
	State      State
}

func (e *SettledError) Error() string {
	return fmt.Sprintf("lifecycle: interaction %d of run %s is already settled (%s); the run is %s", e.ID, e.RunID,
		e.Resolution, e.State)
}

func (e *SettledError) Is(target error) bool { return target == ErrSettled }

// TerminalError says that the run has ended, and how.
type TerminalError struct {
	RunID string
	State State
}

func (e *TerminalError) Error() string {
	return fmt.Sprintf("lifecycle: run %s has ended: it is %s", e.RunID, e.State)
}

func (e *TerminalError) Is(target error) bool { return target == ErrTerminal }
