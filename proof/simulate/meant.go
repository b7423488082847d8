package simulate

import (
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
)

// meant explains why a run must not have ended as it did, or returns "". Each error code needs a
// cause in the plan, and in a calm world few causes exist.
func (e *ending) meant(*ending) string {
	r := &e.run
	if r.State == fsm.StateCanceled && e.plan.cancelAt == 0 {
		return "it is canceled, and nobody wanted that"
	}
	if r.State != fsm.StateFailed {
		return ""
	}
	w := e.world
	fails := slices.ContainsFunc(e.plan.turns, func(t turnPlan) bool { return t.fails || t.busy > 0 })
	because := false
	switch r.Error.Code {
	case fsm.CodeEngineFailed:
		because = fails || e.plan.mishaps.turn.kind != noMishap || w.plan.holds.outage != "" &&
			w.plan.holds.outageBy.kind != noMishap
	case fsm.CodeTurnTimeout:
		because = e.plan.spec.TurnTimeout > 0
	case fsm.CodeBudgetExhausted: // J13: it was given up, as heldAsMeant checks
		because = e.plan.spec.Budget != (lifecycle.Budget{})
	case fsm.CodeInteractiveMaxAttemptExceeded:
		because = e.plan.spec.MaxAttempts > 0
	case fsm.CodeInteractionWaitTimeout, fsm.CodeInteractiveAutoDecisionLimitExceeded:
		because = true // people may simply have been too late
	case fsm.CodeInteractionProcessLost, fsm.CodeOrchestratorRestartInterrupted, fsm.CodeTurnInterrupted:
		because = !w.plan.calm
	case fsm.CodeTurnRepeatLimitExceeded: // J3: only after that many repeats
		because = !w.plan.calm && e.plan.spec.Repeatable &&
			e.requeued(fsm.EventRestartRequeue)-len(e.handedBack())+e.requeued(fsm.EventTurnYielded) >=
				lifecycle.DefaultMaxRepeats
	case fsm.CodeEngineUnavailable:
		because = w.plan.holds.outage != ""
	case fsm.CodeSessionResumeFailed:
		because = e.plan.expires > 0
	}
	if !because {
		return fmt.Sprintf("it failed with %s (%s), and nothing was the cause of it", r.Error.Code, r.Error.Message)
	}
	return ""
}

// recount counts the contract's transitions in the run's log, and the rare branches that the log
// shows.
func (w *world) recount(e *ending) {
	state := string(fsm.StateQueued)
	for _, event := range e.log {
		var c fcmp.StateChanged
		switch {
		case event.Type == fcmp.TypeStateChanged && event.Decode(&c) == nil:
			w.saw(c.From + " → " + c.To + ": " + c.Trigger)
			state = c.To
		case event.Type == fcmp.TypeBlocked, event.Type == fcmp.TypeUnblocked, event.Type == fcmp.TypeRecorded,
			event.Type == fcmp.TypeNoted:
			w.saw(state + " → " + state + ": " + event.Type)
		case event.Type == fcmp.TypeReminder, event.Type == fcmp.TypeEscalated:
			w.saw(state + " → " + state + ": " + string(fsm.EventInteractionStep))
		case event.Type == fcmp.TypeChanged:
			w.saw(state + " → " + state + ": " + string(fsm.EventInteractionChanged))
		}
	}
	if e.run.Error != nil {
		w.saw("ended with " + string(e.run.Error.Code))
	}
	for _, code := range e.run.Warnings {
		w.saw("warned of " + string(code))
	}
}
