package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Reasons for which a turn's context is canceled, found with context.Cause, and answers of a Sink
// and a Checker.
var (
	ErrCanceled      = errors.New("engine: run canceled")
	ErrStale         = errors.New("engine: attempt is no longer the run's")
	ErrTurnTimeout   = errors.New("engine: turn exceeded its time limit")
	ErrShutdown      = errors.New("engine: host is shutting down")
	ErrHandleRefused = errors.New("engine: session handle refused")
)

// Status is how a turn's process ended.
type Status string

// The ways a turn's process can end.
const (
	OK          Status = "ok"
	Failed      Status = "failed"
	Interrupted Status = "interrupted"
	TimedOut    Status = "timed_out"
)

// Process is the result of a turn's process.
type Process struct {
	Status Status
	// Code is the error code when Status is not OK; empty stands for the status's own code. One
	// that the contract does not allow at a turn's end stands in the run's error message, beside
	// ENGINE_FAILED.
	Code Code
	// Detail says what happened, for a person.
	Detail   string
	ExitCode int
	// Transient says that the failure passes by itself: a rate limit, an overloaded model, a broken
	// connection. If the run has a retry policy, the turn is executed again with the same prompt or
	// answer, no earlier than After from now. So set it only if what the agent has done in the
	// turn may be done twice.
	Transient bool
	// Held says that the run cannot go on for a reason that somebody can repair. The run is held,
	// with its answer and session, and the turn is executed again when somebody resumes it, and
	// from time to time by itself, no earlier than After from now. A sticky run fails.
	Held bool
	// Repairable is Held for the runs of hosts that hold them (Spec.Hold, Config.Forgiving); other
	// runs fail.
	Repairable bool
	After      time.Duration
}

// Outcome is the evidence that a turn leaves; the completion gate decides what follows from it.
type Outcome struct {
	Process Process
	// FinalText is the assistant's own last message; nothing of a tool or of the user.
	FinalText string
	// FinalRef is where the message stands in the transcript.
	FinalRef *RawRef
	// Output is structured output that the engine hands over; nil when it has none.
	Output json.RawMessage
	// Done says that the run is complete: the engine's own word, beside which the text needs no
	// marker.
	Done bool
	// Questions are explicit questions that the engine hands over; those in the FinalText of an
	// engine that is not plain are found by the library. All are open together, MaxQuestions at
	// most; what exceeds a limit is left out, with a warning.
	Questions []Question
	// Rule says when a run goes on that waits with several Questions; the zero value: when each is
	// answered. It has no meaning for a single one.
	Rule Rule
	// Sleep lets the run go on with another turn, without an answer, no earlier than at this time.
	// Until then it holds no slot, and neither goroutine nor memory. The turn counts neither
	// as a round nor as a retry. It has no meaning beside Done and Questions. A sticky run fails.
	Sleep time.Time
	// Children lets the run go on with another turn, without an answer, once these children of it
	// have ended (Parent), or, with AnyChild, once any of them has; and at Sleep at the latest
	// unless that is zero. All that is said of Sleep holds here, too.
	Children []string
	AnyChild bool
	// Journal lists the entries that the commit at the end of the turn adds to the run's journal:
	// see the interface Journal. An interrupted turn adds none.
	Journal []JournalEntry
	// Session is the session to resume; nil leaves the one that the Sink was given, or that the
	// run has from an earlier turn.
	Session *SessionHandle
	// Usage is stored also when RunTurn returns an error beside it. Of a RunTurn that panics
	// nothing is known, so an engine that calls code of others recovers their panics.
	Usage Usage
	// Diagnostics become warnings of the turn, a thousand at most.
	Diagnostics []Diagnostic
}

// Usage is what the turn cost, as far as the agent tells.
type Usage struct {
	InputTokens  int64   `json:"input_tokens,omitempty"`
	OutputTokens int64   `json:"output_tokens,omitempty"`
	CostUSD      float64 `json:"cost_usd,omitempty"`
}

// Add returns the sum of two usages. A negative figure and a cost that is NaN count as 0, so that they
// lower nothing, and a sum that is too large is the largest number.
func (u Usage) Add(more Usage) Usage {
	tokens := func(a, b int64) int64 {
		a, b = max(a, 0), max(b, 0)
		return a + min(b, math.MaxInt64-a)
	}
	cost := func(c float64) float64 {
		if c > 0 {
			return c
		}
		return 0
	}
	return Usage{tokens(u.InputTokens, more.InputTokens), tokens(u.OutputTokens, more.OutputTokens),
		cost(u.CostUSD) + cost(more.CostUSD)}
}

// Failure is an error that carries the code a failed turn ends with. Transient, Held, Repairable and
// After mean the same as in Process.
type Failure struct {
	Code       Code
	Detail     string
	Err        error
	Transient  bool
	Held       bool
	Repairable bool
	After      time.Duration
}

// CheckQuestion returns the error of a turn that cannot ask the question, because its schema cannot
// be used (interaction.Question.CheckSchema), and nil if it can. Engines whose questions come from
// code of the host call it before they store anything; the library does so for the questions of
// every Outcome.
func CheckQuestion(q Question) error {
	if err := q.CheckSchema(); err != nil {
		return &Failure{Code: CodeEngineFailed, Err: err, Repairable: true,
			Detail: fmt.Sprintf("the question %.80q cannot be asked", q.Prompt)}
	}
	return nil
}

// Later returns the error of a turn that cannot be executed now, and can be after the given time: a
// passing failure. Zero leaves the time to the run's retry policy. A run that has none fails with
// ENGINE_FAILED and the reason.
func Later(after time.Duration, reason string) error {
	return &Failure{Code: CodeEngineFailed, Detail: reason, Transient: true, After: after}
}

// Hold returns the error of a turn that cannot be executed before somebody has repaired something:
// a journal that does not fit the code, say. The run is held, whatever its policy is, and the turn
// is executed again when somebody resumes the run, and from time to time.
func Hold(code Code, reason string) error {
	return &Failure{Code: code, Detail: reason, Held: true}
}

func (f *Failure) Error() string {
	var parts []string
	for _, part := range []string{string(f.Code), f.Detail} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if f.Err != nil {
		parts = append(parts, f.Err.Error())
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }
