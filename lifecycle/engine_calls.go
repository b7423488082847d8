package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
)

// An engine may panic, exit its goroutine, hang, or return late (J10). This package calls every
// method of an engine through guarded or call, so that a fault of an engine costs one run and never
// the process.

// How long an engine may take to return once the context of its call has ended: from a turn, which
// may have processes to end, and from any other call. After that the call is stuck: the library
// goes on without it, and Stuck lists it until it returns.
const (
	turnReturnLimit = 10 * time.Second
	callReturnLimit = 2 * time.Second
)

// How long calls of an engine may take outside of turns before their context ends.
const (
	reapLimit  = time.Minute
	checkLimit = 10 * time.Second
	endLimit   = 10 * time.Second
	lossLimit  = 5 * time.Second
)

// EngineCall is a call of an engine that is stuck: it has not returned, though its context has
// ended.
type EngineCall struct {
	// Engine is the engine's name in the configuration, Method what was called: "RunTurn", "Reap"
	// and so on.
	Engine, Method string
	// RunID and Attempt say for which turn; Attempt is 0 for calls outside of turns, and RunID is
	// empty for calls that are about no run.
	RunID   string
	Attempt int
	// Since is when the library went on without it.
	Since time.Time
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

// StuckError says which calls of engines had not returned when Serve ended. Whatever they still do
// changes no run.
type StuckError struct {
	Calls []EngineCall
}

func (e *StuckError) Error() string {
	calls := make([]string, len(e.Calls))
	for i, c := range e.Calls {
		calls[i] = c.String()
	}
	return "lifecycle: engine code ignores that its context has ended, and was left behind: " + strings.Join(calls,
		", ")
}

// Is makes errors.Is(err, ErrStuck) true.
func (e *StuckError) Is(target error) bool { return target == ErrStuck }

// Stuck lists the calls of engines that have not returned though their contexts have ended, the
// oldest first. A turn among them takes one place of Config.Concurrency until it returns; its run
// is settled without it, and its slot is free.
func (l *Lifecycle) Stuck() []EngineCall { return l.stuck.list() }

// stuckCalls are the calls that are stuck.
type stuckCalls struct {
	mu    sync.Mutex
	calls map[*stuckCall]bool // guarded by mu
}

type stuckCall struct {
	EngineCall
	returned bool // guarded by stuckCalls.mu
}

// add adds the call, unless it has returned meanwhile.
func (s *stuckCalls) add(c *stuckCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.returned {
		return
	}
	if s.calls == nil {
		s.calls = make(map[*stuckCall]bool)
	}
	s.calls[c] = true
}

// remove removes the call when it returns, or keeps add from adding it.
func (s *stuckCalls) remove(c *stuckCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.returned = true
	delete(s.calls, c)
}

// hasTurnOf reports whether a turn of the run is stuck.
func (s *stuckCalls) hasTurnOf(runID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.calls {
		if c.RunID == runID && c.Attempt > 0 {
			return true
		}
	}
	return false
}

func (s *stuckCalls) list() []EngineCall {
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

// errExited is the error of a call whose engine ended the goroutine by runtime.Goexit, as t.FailNow
// in a test does.
var errExited = errors.New("the engine exited the goroutine that called it")

// guarded calls an engine on this goroutine, and turns a panic into an error with the panic's
// value; the stack is logged. It cannot keep the engine from exiting the goroutine.
func (c *Client) guarded(what EngineCall, fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			text := decide.Shortened(fmt.Sprint(p))
			c.log.Error("engine panicked", "engine", what.Engine, "method", what.Method, "run", what.RunID, "panic",
				text, "stack", string(debug.Stack()))
			err = &engine.Failure{Code: fsm.CodeEngineFailed, Detail: "the engine panicked: " + text}
		}
	}()
	return fn()
}

// engineError is a copy of an engine's error that has no methods of the engine: those may panic.
type engineError struct {
	text string
	is   error // what the copy still matches, of what this package asks for; nil: nothing
}

func (e *engineError) Error() string { return e.text }

func (e *engineError) Unwrap() error { return e.is }

// flattenError copies an engine's error. It is called within guarded.
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

// call calls an engine on a goroutine of its own, with a context that ends after limit. If the
// engine has not returned callReturnLimit after that context has ended, the call is stuck, and call
// returns without it.
func (c *Client) call(ctx context.Context, limit time.Duration, what EngineCall, fn func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	entry := &stuckCall{EngineCall: what}
	returned := make(chan error, 1)
	go func() {
		err := errExited
		defer func() {
			c.stuck.remove(entry)
			returned <- err
		}()
		err = c.guarded(what, func() error { return flattenError(fn(ctx)) })
	}()
	over, stop := c.clock.Timer(limit)
	defer stop()
	select {
	case err := <-returned:
		return err
	case <-over:
		cancel(fmt.Errorf("%s has taken longer than %s", what, limit))
	case <-ctx.Done():
	}
	cause := context.Cause(ctx)
	late, stopLate := c.clock.Timer(callReturnLimit)
	defer stopLate()
	select {
	case err := <-returned:
		return err
	case <-late:
	}
	entry.Since = commitTime(c.clock)
	c.stuck.add(entry)
	c.log.Error("engine ignores that its context has ended; going on without it", "call", what.String(), "cause", cause)
	return fmt.Errorf("%s has not returned: %w", what, cause)
}
