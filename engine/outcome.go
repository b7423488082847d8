package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Causes of a canceled turn's context (context.Cause), and errors of a Sink and a Checker.
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
	// Code is the error code if Status is not OK; empty: the status's code. A code that the
	// contract does not allow at a turn's end becomes part of the run's error message, with
	// ENGINE_FAILED.
	Code Code
	// Detail says what happened, for people.
	Detail   string
	ExitCode int
	// Transient marks a temporary failure: a rate limit, an overloaded model, a broken connection.
	// With a retry policy, the turn is executed again with the same prompt or answer, no earlier
	// than After from now. Set it only if the turn's effects may happen twice.
	Transient bool
	// Held says that the run needs a repair. It is held with its answer and session; the turn is
	// executed again when an operator resumes it, and automatically from time to time, no earlier
	// than After from now. A sticky run fails.
	Held bool
	// Repairable is Held for runs of hosts that hold them (Spec.Hold, Config.Forgiving); other runs
	// fail.
	Repairable bool
	After      time.Duration
}

// Outcome is a turn's evidence; the completion gate decides what follows.
type Outcome struct {
	Process Process
	// FinalText is the assistant's own last message, without text of tools or the user.
	FinalText string
	// FinalRef locates the message in the transcript.
	FinalRef *RawRef
	// Output is structured output, or nil.
	Output json.RawMessage
	// Done says that the run is complete; the text then needs no marker.
	Done bool
	// Questions are explicit questions, at most MaxQuestions; the excess is dropped with a warning.
	// Questions in the FinalText of a non-plain engine are found by the library.
	Questions []Question
	// Rule says when a run with several Questions continues; the zero value waits for all.
	Rule Rule
	// Sleep lets the run continue with another turn, without an answer, no earlier than this time.
	// Until then it holds no slot, goroutine or memory. The turn counts neither as an attempt nor
	// as a retry. It has no effect with Done or Questions. A sticky run fails.
	Sleep time.Time
	// Children lets the run continue with another turn, without an answer, when these children have
	// ended (Parent), or any of them with AnyChild; at Sleep at the latest, if set. The rules of
	// Sleep apply.
	Children []string
	AnyChild bool
	// Journal lists the entries that the turn's last commit adds to the journal (see the interface
	// Journal). An interrupted turn adds none.
	Journal []JournalEntry
	// Session is the session to resume; nil keeps the one reported to the Sink or stored earlier.
	Session *SessionHandle
	// Usage is stored even if RunTurn returns an error. After a panic it is unknown, so an engine
	// that calls foreign code should recover panics.
	Usage Usage
	// Diagnostics become warnings of the turn, a thousand at most.
	Diagnostics []Diagnostic
}

// Usage is the cost of a turn as reported by the agent.
type Usage struct {
	InputTokens  int64   `json:"input_tokens,omitempty"`
	OutputTokens int64   `json:"output_tokens,omitempty"`
	CostUSD      float64 `json:"cost_usd,omitempty"`
}

// Add returns the sum of two usages. Negative figures and NaN count as 0; a sum that is too large
// is the largest number.
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

// Failure is an error with the code of a failed turn. Transient, Held, Repairable and After are as
// in Process.
type Failure struct {
	Code       Code
	Detail     string
	Err        error
	Transient  bool
	Held       bool
	Repairable bool
	After      time.Duration
}

// ValidateQuestion returns the error of a turn whose question has an unusable Schema or Only
// (interaction.Question.Validate), else nil. Engines whose questions come from the host's code call
// it before they store anything; the library does so for every Outcome.
func ValidateQuestion(q Question) error {
	if err := q.Validate(); err != nil {
		return &Failure{Code: CodeEngineFailed, Err: err, Repairable: true,
			Detail: fmt.Sprintf("the question %.80q cannot be asked", q.Prompt)}
	}
	return nil
}

// Later returns the error of a turn that can be executed later, after the given time: a transient
// failure. Zero leaves the time to the run's retry policy. A run without one fails with
// ENGINE_FAILED and the reason.
func Later(after time.Duration, reason string) error {
	return &Failure{Code: CodeEngineFailed, Detail: reason, Transient: true, After: after}
}

// Hold returns the error of a turn that needs a repair, such as a journal that does not fit the
// code. The run is held whatever its policy, and the turn is executed again when an operator
// resumes it, and from time to time.
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

func (f *Failure) Unwrap() error { return f.Err }
