package adk

import (
	"fmt"
	"iter"
	"strings"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
)

// Guard returns an agent that runs a and turns its panic into an error. ADK's ParallelAgent runs
// its sub-agents in separate goroutines, where a panic ends the process: guard each that may panic.
// Guard does not recover panics of goroutines started by a.
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

// guarded yields the agent's events until it ends or panics. stopped: yield wants no more.
func guarded(events iter.Seq2[*session.Event, error], yield func(*session.Event, error) bool) (stopped bool,
	failed error) {
	yielding := false
	defer func() {
		if yielding { // yield's panic, not the agent's
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

// checkParallel refuses confirmations of agents below a ParallelAgent. ADK executes the confirmed
// tools of all sub-agents concurrently: some calls get no confirmation, and if a sub-agent stops
// the others, ADK 2.2 panics and ends the process.
func (p *activeTurn) checkParallel(root agent.Agent, open []pendingCall) error {
	for i := range open {
		o := &open[i]
		if o.Kind != Confirmation {
			continue
		}
		if parallel := parallelIn(root, p.branches[o.Agent]); parallel != "" {
			return fmt.Errorf("the agent %s below the ParallelAgent %s wants the tool %q to be confirmed, which ADK "+
				"cannot resume: ask in an agent that does not run in parallel, or in a workflow",
				o.Agent, parallel, o.Tool)
		}
	}
	return nil
}

// parallelIn returns the name of the ParallelAgent in an event's branch, or "". A ParallelAgent
// adds its name and its sub-agent's to the branch.
func parallelIn(a agent.Agent, branch string) string {
	for _, sub := range a.SubAgents() {
		if strings.Contains("."+branch+".", "."+a.Name()+"."+sub.Name()+".") {
			return a.Name()
		}
		if found := parallelIn(sub, branch); found != "" {
			return found
		}
	}
	return ""
}
