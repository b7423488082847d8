package adk

import (
	"fmt"
	"iter"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
)

// Guard returns an agent that runs a and turns its panic into an error. ADK's ParallelAgent runs
// its sub-agents in goroutines of its own, where a panic ends the whole process: guard each of them
// that may panic. Guard does not recover panics of goroutines that a starts itself.
func Guard(a agent.Agent) (agent.Agent, error) {
	return agent.New(agent.Config{
		Name: a.Name(), Description: a.Description(), SubAgents: a.SubAgents(),
		Run: func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) {
				stopped, failed := guarded(a.Run(ctx), yield)
				if failed != nil && !stopped {
					yield(nil, fmt.Errorf("adk: the agent %s: %w", a.Name(), failed))
				}
			}
		},
	})
}

// guarded yields the agent's events until it ends or panics. stopped says that yield wants no more.
func guarded(events iter.Seq2[*session.Event, error], yield func(*session.Event, error) bool) (stopped bool,
	failed error) {
	yielding := false
	defer func() {
		if yielding { // the panic is that of yield, not the agent's
			return
		}
		if p := recover(); p != nil {
			failed = fmt.Errorf("panic: %v", p)
		}
	}()
	for ev, err := range events {
		yielding = true
		more := yield(ev, err)
		yielding = false
		if !more {
			return true, nil
		}
	}
	return false, nil
}
