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
	// Code is the error code if Status is not OK; empty selects the status's code. A code that the
	// contract does not allow at a turn's end becomes part of the run's error message, with
	// ENGINE_FAILED.
	Code Code
	// Detail says what happened, for a person.
	Detail   string
	ExitCode int
	// Transient marks a temporary failure: a rate limit, an overloaded model, a broken connection.
	// If the run has a retry policy, the turn is executed again with the same prompt or answer, no
	// earlier than After from now. Set it only if the turn's effects may happen twice.
	Transient bool
	// Held says that the run cannot continue until a repair. The run is held with its answer and
	// session, and the turn is executed again when an operator resumes it, and automatically from
	// time to time, no earlier than After from now. A sticky run fails.
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
	// FinalRef locates the message in the transcript.
	FinalRef *RawRef
	// Output is structured output; nil without any.
	Output json.RawMessage
	// Done says that the run is complete; the text then needs no marker.
	Done bool
	// Questions are explicit questions; questions in the FinalText of a non-plain engine are found
	// by the library. At most MaxQuestions are open together; the excess is dropped with a warning.
	Questions []Question
	// Rule says when a run with several Questions continues; the zero value waits for all. It has
	// no effect on a single question.
	Rule Rule
	// Sleep lets the run continue with another turn, without an answer, no earlier than this time.
	// Until then it holds no slot, goroutine or memory. The turn counts neither as a round nor as a
	// retry. It has no effect with Done or Questions. A sticky run fails.
	Sleep time.Time
	// Children lets the run continue with another turn, without an answer, when these children have
	// ended (Parent), or any of them with AnyChild; at Sleep at the latest if that is set. The
	// rules of Sleep apply.
	Children []string
	AnyChild bool
	// Journal lists the entries that the commit at the end of the turn adds to the run's journal:
	// see the interface Journal. An interrupted turn adds none.
	Journal []JournalEntry
	// Session is the session to resume; nil keeps the one reported to the Sink or stored by an
	// earlier turn.
	Session *SessionHandle
	// Usage is stored even if RunTurn returns an error. After a panic nothing is known, so an
	// engine that calls foreign code should recover panics.
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

// ValidateQuestion returns the error of a turn that cannot ask the question, because its Schema or Only
// cannot be used (interaction.Question.Validate), and nil if it can. Engines whose questions come
// from code of the host call it before they store anything; the library does so for the questions
// of every Outcome.
func ValidateQuestion(q Question) error {
	if err := q.Validate(); err != nil {
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

// Hold returns the error of a turn that cannot run before a repair, such as a journal that does not
// fit the code. The run is held whatever its policy, and the turn is executed again when an
// operator resumes it, and from time to time.
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
