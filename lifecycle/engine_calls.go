package lifecycle

import (
	"strings"
	"time"

	"github.com/interlude-go/interlude/lifecycle/internal/node"
)

// EngineCall is a call of an engine that is stuck: it has not returned, though its context has
// ended.
type EngineCall struct {
	// Engine is the engine's name in the configuration, Method the called method: "RunTurn", "Reap"
	// and so on.
	Engine, Method string
	// RunID and Attempt say for which turn; Attempt is 0 for calls outside of turns, and RunID is
	// empty for calls that are about no run.
	RunID   string
	Attempt int
	// Since is when the library stopped waiting for it.
	Since time.Time
}

func (c EngineCall) String() string { return node.EngineCall(c).String() }

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
func (l *Lifecycle) Stuck() []EngineCall {
	stuck := l.proc.Stuck.List()
	all := make([]EngineCall, len(stuck))
	for i, c := range stuck {
		all[i] = EngineCall(c)
	}
	return all
}
