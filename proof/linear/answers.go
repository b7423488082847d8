package linear

import (
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// Classes of answers to calls that had no effect.
const (
	NotFound    = "not found"
	OtherSpec   = "the id belongs to another spec"
	KeyConflict = "the key was used for another reply"
	Stale       = "stale epoch"
	Conflict    = "the record changed"
	NotHeld     = "not held"
	NotOffered  = "no choice for what the run is held for, or a budget that is used up"
	RunChanged  = "another version than was seen"
	NotLater    = "not later than the end, or there is no end"
	CannotFork  = "cannot be forked there"
	BySeveral   = "several people decide the question"
	TooFew      = "too few people would be asked"
	NoReply     = "no reply that the question takes"
	NotDeputy   = "not a deputy"
)

// NotAsked is the class of a lifecycle.NotAskedError: it says who is asked.
func NotAsked(to string) string { return "others are asked: " + to }

// Claimed is the class of a lifecycle.ClaimedError: it says by whom.
func Claimed(by string) string { return "claimed by " + by }

// Reassigned is the class of a lifecycle.ReassignedError: it says who is asked now.
func Reassigned(to string) string { return "put to others meanwhile: " + to }

// Voted is the class of a lifecycle.VotedError: it says how.
func Voted(decision string) string { return "has voted to " + decision }

// NotWaiting is the class of a lifecycle.WaitError.
func NotWaiting(state string, pending, asked int) string {
	return fmt.Sprintf("not waiting: %s, pending %d, asked %d", state, pending, asked)
}

// SettledAs is the class of a lifecycle.SettledError.
func SettledAs(resolution, state string) string {
	return fmt.Sprintf("settled: %s, now %s", resolution, state)
}

// Ended is the class of a lifecycle.TerminalError.
func Ended(state string) string { return "ended: " + state }

// against is the model's answer to a call that the contract forbids. No store gives this answer, so
// that a history in which a store accepted the call is rejected.
func against(format string, args ...any) Output {
	return Output{Err: "against the contract: " + fmt.Sprintf(format, args...)}
}

// Answer returns the output of a call that returned this error. An error of no class leaves the
// outcome unknown.
func Answer(err error) Output {
	var waits *lifecycle.WaitError
	var lost *lifecycle.SettledError
	var ended *lifecycle.TerminalError
	if class := refusedTo(err); class != "" {
		return Output{Err: class}
	}
	switch {
	case err == nil:
		return Output{}
	case errors.As(err, &waits):
		return Output{Err: NotWaiting(string(waits.State), waits.Pending, waits.Asked)}
	case errors.As(err, &lost):
		return Output{Err: SettledAs(string(lost.Resolution), string(lost.State))}
	case errors.As(err, &ended):
		return Output{Err: Ended(string(ended.State))}
	case errors.Is(err, lifecycle.ErrCannotFork): // whatever the question says of the answer
		return Output{Err: CannotFork}
	}
	for class, sentinels := range map[string][]error{
		NotFound: {store.ErrNotFound}, OtherSpec: {lifecycle.ErrSpecConflict}, KeyConflict: {lifecycle.ErrKeyConflict},
		Stale: {store.ErrStaleEpoch}, Conflict: {store.ErrConflict}, NotHeld: {lifecycle.ErrNotHeld},
		RunChanged: {lifecycle.ErrRunChanged}, NoReply: {lifecycle.ErrInvalidReply},
	} {
		for _, s := range sentinels {
			if errors.Is(err, s) {
				return Output{Err: class}
			}
		}
	}
	for _, s := range []error{store.ErrInvalid, store.ErrExists, store.ErrUnknownPool, store.ErrCorrupt} {
		if errors.Is(err, s) {
			return Output{Err: err.Error()} // the model never answers this, so the history is refused
		}
	}
	return Output{Unknown: true}
}

// refusedTo returns the class of an error that refuses the call to this person; empty for other
// errors.
func refusedTo(err error) string {
	var notAsked *interaction.NotAskedError
	var claimed *interaction.ClaimedError
	var reassigned *interaction.ReassignedError
	var voted *interaction.VotedError
	var argument *lifecycle.ArgumentError
	switch {
	case errors.Is(err, interaction.ErrNotDeputy):
		return NotDeputy
	case errors.As(err, &notAsked):
		return NotAsked(TextOfAudience(&notAsked.To))
	case errors.As(err, &claimed):
		return Claimed(claimed.Claim.Actor)
	case errors.As(err, &reassigned):
		return Reassigned(TextOfAudience(reassigned.To))
	case errors.As(err, &voted):
		return Voted(string(voted.Vote.Decision))
	case errors.As(err, &argument) && argument.Argument == "question":
		return BySeveral
	case errors.As(err, &argument) && (argument.Argument == "resume.Choice" || argument.Argument == "resume.Budget"):
		return NotOffered
	case errors.As(err, &argument) && argument.Argument == "to":
		return TooFew
	}
	return ""
}
