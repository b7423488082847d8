package lifecycle

import (
	"strings"
	"time"

	"github.com/interlude-go/interlude/lifecycle/internal/node"
)

// EngineCall is a stuck call of an engine: its context has ended, but it has not returned.
type EngineCall struct {
	// Engine is the engine's configured name, Method the called method, such as "RunTurn".
	Engine, Method string
	// RunID and Attempt identify the turn. Attempt is 0 outside of turns; RunID is empty for calls
	// about no run.
	RunID   string
	Attempt int
	// Since is when the library stopped waiting for it.
	Since time.Time
}

func (c EngineCall) String() string { return node.EngineCall(c).String() }

// StuckError lists the engine calls that had not returned when Serve ended. They can change no run.
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

func (e *StuckError) Is(target error) bool { return target == ErrStuck }

// Stuck lists the engine calls that have not returned although their contexts have ended, oldest
// first. A stuck turn takes a place of Config.Concurrency until it returns; its run is settled
// without it, and its slot is free.
func (l *Lifecycle) Stuck() []EngineCall {
	stuck := l.proc.Stuck.List()
	all := make([]EngineCall, len(stuck))
	for i, c := range stuck {
		all[i] = EngineCall(c)
	}
	return all
}
