package simulate

import (
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
)

// meant says why a run may not have ended as it did: each code needs its cause, and where nothing
// went wrong there are few causes.
func (e *ending) meant(*ending) string {
	r := &e.run
	if r.State == fsm.StateCanceled && e.plan.cancelAt == 0 {
		return "it is canceled, and nobody wanted that"
	}
	if r.State != fsm.StateFailed {
		return ""
	}
	w := e.people[0].world
	fails := slices.ContainsFunc(e.plan.turns, func(t turnPlan) bool { return t.fails || t.busy > 0 })
	because := false
	switch r.Error.Code {
	case fsm.CodeEngineFailed:
		because = fails
	case fsm.CodeTurnTimeout:
		because = e.plan.spec.TurnTimeout > 0
	case fsm.CodeInteractiveMaxAttemptExceeded:
		because = e.plan.spec.MaxAttempts > 0
	case fsm.CodeInteractionWaitTimeout, fsm.CodeInteractiveAutoDecisionLimitExceeded:
		because = true // it may be that nobody was there in time
	case fsm.CodeInteractionProcessLost, fsm.CodeOrchestratorRestartInterrupted, fsm.CodeTurnInterrupted:
		because = !w.plan.calm
	case fsm.CodeTurnRepeatLimitExceeded: // J3: not before it was repeated as often as that
		because = !w.plan.calm && e.plan.spec.Repeatable &&
			e.requeued(fsm.EventRestartRequeue)+e.requeued(fsm.EventTurnYielded) >= lifecycle.DefaultMaxRepeats
	case fsm.CodeSessionResumeFailed:
		because = e.plan.expires > 0
	}
	if !because {
		return fmt.Sprintf("it failed with %s (%s), and nothing was the cause of it", r.Error.Code, r.Error.Message)
	}
	return ""
}

// recount counts which arrows of the contract the run went along, and what else its log tells.
func (w *world) recount(e *ending) {
	for _, event := range e.log {
		var c fcmp.StateChanged
		if event.Type == fcmp.TypeStateChanged && event.Decode(&c) == nil {
			w.saw(c.From + " → " + c.To + ": " + c.Trigger)
		}
	}
	if e.run.Error != nil {
		w.saw("ended with " + string(e.run.Error.Code))
	}
	for _, code := range e.run.Warnings {
		w.saw("warned of " + string(code))
	}
}
