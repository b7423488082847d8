package engine

import (
	"context"
	"encoding/json"
	"errors"
)

// Child is a run that a turn starts. It inherits unset fields from its parent: mode, pool and
// key, priority, session timeout and its action, audience, and the policies for interrupted
// turns, holds and retries. It has no budget.
type Child struct {
	// Key identifies the child within its run: 1 to MaxChildKey bytes. Spawn returns an existing
	// child with this key, ignoring the other fields.
	Key string
	// Engine is the name of an engine of the host; empty: the parent's.
	Engine string
	// Prompt and InputJSON are the child's input; at least one is required.
	Prompt    string
	InputJSON json.RawMessage
	// Mode is the parent's if empty.
	Mode         Mode
	OutputSchema json.RawMessage
	Labels       map[string]string
	// WorkDir is the child's working folder; empty creates one.
	WorkDir string
}

// Limits of children.
const (
	MaxChildKey = 1024
	// MaxChildren is how many children one run may start, and MaxDepth how many ancestors a run may
	// have.
	MaxChildren = 1000
	MaxDepth    = 8
)

// ChildEnd is how a child has ended.
type ChildEnd struct {
	// Succeeded reports success; Output and FinalText are then the result.
	Succeeded bool
	Output    json.RawMessage
	FinalText string
	// Code and Message say why it failed or was canceled.
	Code    Code
	Message string
}

// Parent is implemented by the Sink of a host whose turns can start runs. When the parent has
// ended, in any way, its children are canceled, and theirs. To wait for children, a turn ends with
// Outcome.Children.
type Parent interface {
	// Spawn starts a child once and returns its run's id, which depends only on the run and Key.
	// Errors: ErrStale if the run was taken over or has ended, ErrTooManyChildren, or an invalid
	// child.
	Spawn(ctx context.Context, c Child) (runID string, err error)
	// ChildEnd returns how a child of the run has ended; nil if it has not.
	ChildEnd(ctx context.Context, runID string) (*ChildEnd, error)
	// OpenChildren returns the ids of the run's unended children, in any order, by few reads: use
	// it instead of many calls of ChildEnd.
	OpenChildren(ctx context.Context) (runIDs []string, err error)
}

// Errors of a Parent.
var (
	ErrNoChildren      = errors.New("engine: the host's turns cannot start runs")
	ErrTooManyChildren = errors.New("engine: too many runs in a tree")
)

// AwaitAll is the outcome of a turn whose run continues when all these children have ended.
func AwaitAll(runIDs ...string) Outcome {
	return Outcome{Process: Process{Status: OK}, Children: runIDs}
}

// AwaitAny is the outcome of a turn whose run continues when any of these children has ended.
func AwaitAny(runIDs ...string) Outcome {
	o := AwaitAll(runIDs...)
	o.AnyChild = true
	return o
}
