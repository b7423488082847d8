package front

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// Fault describes an error for the client of a protocol. It has no text of a store, which may name
// files, hosts and other runs.
type Fault struct {
	// Code is the code that the HTTP API uses for the same error, such as SETTLED.
	Code string
	// Text explains the error to a person.
	Text string
	// Unknown: the call may have taken effect. Sending the same answer again is safe.
	Unknown bool
}

func (f Fault) Error() string { return f.Text }

// ErrHost is the error of Guard.
var ErrHost = errors.New("front: a function of the host panicked, or exited its goroutine")

// Guard calls a function of the host in its own goroutine. If it panics or calls runtime.Goexit, the
// result matches ErrHost, and has the stack of the panic; the request's goroutine continues.
func Guard(call func() error) error {
	err := ErrHost
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("%w: %v\n%s", ErrHost, p, debug.Stack())
			}
		}()
		err = call()
	}()
	<-done
	return err
}

const outcomeUnknown = "It is unknown whether this was stored. Send it again: it takes effect at most once."

// faults maps the library's errors; an error precedes the errors that it wraps.
var faults = []struct {
	err  error
	code string
	text string
}{
	{ErrAmbiguous, "AMBIGUOUS", "Several questions are open. Name the answered one."},
	{lifecycle.ErrNotFound, "NOT_FOUND", "There is no such run or question."},
	{lifecycle.ErrNotAllowed, "NOT_ALLOWED", "You may not do this."},
	{lifecycle.ErrNotAsked, "NOT_ASKED", "The question is for others."},
	{lifecycle.ErrNotDeputy, "NOT_DEPUTY",
		"You are not the deputy of this person now, or the directory cannot be read."},
	{lifecycle.ErrSettled, "SETTLED", "The question was already settled."},
	{lifecycle.ErrNotWaiting, "NOT_WAITING", "The run does not wait for this answer."},
	{lifecycle.ErrQuestionChanged, "QUESTION_CHANGED", "The question has changed since you saw it."},
	{lifecycle.ErrClaimed, "CLAIMED", "Another person works on the question."},
	{lifecycle.ErrReassigned, "REASSIGNED", "The question was reassigned."},
	{lifecycle.ErrVoted, "VOTED", "You have already voted."},
	{lifecycle.ErrKeyConflict, "KEY_CONFLICT", "This answer was already used for another question."},
	{lifecycle.ErrSpecConflict, "SPEC_CONFLICT", "This id belongs to another call."},
	{lifecycle.ErrTerminal, "RUN_TERMINAL", "The run has ended."},
	{lifecycle.ErrTooMany, "TOO_MANY", "You have reached a limit."},
	{lifecycle.ErrCursorBeyondEnd, "CURSOR_BEYOND_END", "The cursor is beyond the last event."},
	{lifecycle.ErrInvalidReply, "INVALID_REPLY", "The answer is invalid."},
	{lifecycle.ErrInvalidSpec, "INVALID_SPEC", "The run cannot be started with these values."},
	{lifecycle.ErrInvalidArgument, "INVALID_ARGUMENT", "An argument is invalid."},
	{store.ErrInvalid, "INVALID_ARGUMENT", "An argument is invalid."},
	{lifecycle.ErrFull, "FULL", "The server has no space left."},
	{lifecycle.ErrUnavailable, "UNAVAILABLE", "The server is unavailable now."},
	{context.DeadlineExceeded, "UNAVAILABLE", "The server is unavailable now."},
	{context.Canceled, "UNAVAILABLE", "The server is unavailable now."},
}

// FaultOf describes an error of a Caller or a lifecycle.Client.
func FaultOf(err error) Fault {
	var f Fault
	if errors.As(err, &f) {
		return f
	}
	for _, known := range faults {
		if !errors.Is(err, known.err) {
			continue
		}
		f = Fault{Code: known.code, Text: known.text}
		switch known.code {
		case "FULL", "UNAVAILABLE":
			f.Text, f.Unknown = known.text+" "+outcomeUnknown, true
		default:
			if detail := detailOf(err); detail != "" {
				f.Text = strings.TrimSuffix(known.text, ".") + ": " + detail + "."
			}
		}
		return f
	}
	return Fault{Code: "INTERNAL", Text: outcomeUnknown, Unknown: true}
}

// detailOf returns the data of the library's typed errors, of which none comes from a store's driver.
func detailOf(err error) string {
	var (
		value    *lifecycle.ValueError
		field    *lifecycle.FieldError
		settled  *lifecycle.SettledError
		claimed  *lifecycle.ClaimedError
		voted    *lifecycle.VotedError
		notAsked *lifecycle.NotAskedError
	)
	switch {
	case errors.As(err, &value):
		var all []string
		for _, f := range value.Faults {
			all = append(all, fmt.Sprintf("%q: %s", f.Pointer, f.Want))
		}
		return strings.Join(all, "; ")
	case errors.As(err, &field):
		return strings.ToLower(field.Field) + ": want " + field.Want
	case errors.As(err, &settled):
		return settlements[settled.Resolution]
	case errors.As(err, &claimed):
		return interaction.Visible(claimed.Claim.Actor) + ", until " + claimed.Claim.Until.UTC().Format(time.RFC3339)
	case errors.As(err, &voted):
		return string(voted.Vote.Decision)
	case errors.As(err, &notAsked):
		return interaction.Visible(notAsked.To.String())
	}
	return ""
}

var settlements = map[lifecycle.Resolution]string{
	lifecycle.UserReply:         "by a person's answer",
	lifecycle.AutoDecideTimeout: "automatically, when its time was over",
	lifecycle.DefaultAnswer:     "by its default answer, when its time was over",
	lifecycle.Abandoned:         "its run has ended",
	lifecycle.Superseded:        "other answers were sufficient",
}
