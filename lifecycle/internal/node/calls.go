package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
)

// An engine may panic, exit its goroutine, hang, or return late. Its methods are called only
// through Guard or Call, so that its fault costs one run and never the process.

// How long an engine may take to return after its call's context has ended. Then the call is stuck:
// the library continues without it, and lists it until it returns.
const (
	TurnReturnLimit = 10 * time.Second // a turn may have processes to end
	CallReturnLimit = 2 * time.Second
)

// Time limits of engine calls outside of turns.
const (
	ReapLimit    = time.Minute
	CleanUpLimit = time.Minute
	CheckLimit   = 10 * time.Second
	EndLimit     = 10 * time.Second
	LossLimit    = 5 * time.Second
)

type EngineCall struct {
	Engine, Method string
	RunID          string    // empty: about no run
	Attempt        int       // 0: outside of a turn
	Since          time.Time // when the library stopped waiting
}

func (c EngineCall) String() string {
	text := fmt.Sprintf("%s of engine %q", c.Method, c.Engine)
	if c.RunID != "" {
		text += " for run " + c.RunID
	}
	if c.Attempt > 0 {
		text += fmt.Sprintf(" (attempt %d)", c.Attempt)
	}
	return text
}

// StuckCalls are the calls that have not returned and that the process no longer waits for.
type StuckCalls struct {
	mu    sync.Mutex
	calls map[*StuckCall]bool // guarded by mu
}

// StuckCall is a call that is or may become stuck.
type StuckCall struct {
	EngineCall
	returned bool // guarded by StuckCalls.mu
}

func (s *StuckCalls) Add(c *StuckCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.returned {
		return
	}
	if s.calls == nil {
		s.calls = make(map[*StuckCall]bool)
	}
	s.calls[c] = true
}

// Remove removes a returned call, or keeps Add from adding it.
func (s *StuckCalls) Remove(c *StuckCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.returned = true
	delete(s.calls, c)
}

func (s *StuckCalls) HasTurnOf(runID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.calls {
		if c.RunID == runID && c.Attempt > 0 {
			return true
		}
	}
	return false
}

// List returns the calls, oldest first.
func (s *StuckCalls) List() []EngineCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]EngineCall, 0, len(s.calls))
	for c := range s.calls {
		all = append(all, c.EngineCall)
	}
	slices.SortFunc(all, func(a, b EngineCall) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.Method, b.Method))
	})
	return all
}

// ErrExited: the engine ended the goroutine by runtime.Goexit, as t.FailNow does.
var ErrExited = errors.New("the engine exited the goroutine that called it")

// Guard calls an engine on this goroutine, and turns a panic into an error. The engine can still exit
// the goroutine.
func (p *Process) Guard(what EngineCall, fn func() error) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			text := decide.Shortened(fmt.Sprint(panicked))
			p.Log.Error("engine panicked", "engine", what.Engine, "method", what.Method, "run", what.RunID, "panic",
				text, "stack", string(debug.Stack()))
			err = &engine.Failure{Code: fsm.CodeEngineFailed, Detail: "the engine panicked: " + text}
		}
	}()
	return fn()
}

// engineError copies an engine's error without its methods, which may panic.
type engineError struct {
	text string
	is   error // engine.ErrHandleRefused if the original matches it, else nil
}

func (e *engineError) Error() string { return e.text }

func (e *engineError) Unwrap() error { return e.is }

// flattenError copies an engine's error. It is called within Guard.
func flattenError(err error) error {
	if err == nil {
		return nil
	}
	e := &engineError{text: err.Error()}
	if errors.Is(err, engine.ErrHandleRefused) {
		e.is = engine.ErrHandleRefused
	}
	return e
}

// Call calls an engine on a separate goroutine, with a context that ends after limit. If the call has
// not returned CallReturnLimit later, it is stuck, and Call returns.
func (p *Process) Call(
	ctx context.Context, limit time.Duration, what EngineCall, fn func(context.Context) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	entry := &StuckCall{EngineCall: what}
	returned := make(chan error, 1)
	go func() {
		err := ErrExited
		defer func() {
			p.Stuck.Remove(entry)
			returned <- err
		}()
		err = p.Guard(what, func() error { return flattenError(fn(ctx)) })
	}()
	over, stop := p.Clock.Timer(limit)
	defer stop()
	select {
	case err := <-returned:
		return err
	case <-over:
		cancel(fmt.Errorf("%s has taken longer than %s", what, limit))
	case <-ctx.Done():
	}
	cause := context.Cause(ctx)
	late, stopLate := p.Clock.Timer(CallReturnLimit)
	defer stopLate()
	select {
	case err := <-returned:
		return err
	case <-late:
	}
	entry.Since = p.Now()
	p.Stuck.Add(entry)
	p.Log.Error("engine ignores that its context has ended; going on without it", "call", what.String(), "cause", cause)
	return fmt.Errorf("%s has not returned: %w", what, cause)
}
