package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// statusCodes are the codes of a process without one.
var statusCodes = map[engine.Status]fsm.Code{
	engine.Interrupted: fsm.CodeTurnInterrupted,
	engine.TimedOut:    fsm.CodeTurnTimeout,
}

// gate ends a turn as the contract's completion gate decides.
func gate(run *store.Run, ev *Evidence, node string, now time.Time) (*store.Commit, error) {
	e := ev.effects()
	e.now = now
	rule := fsm.Decide(factsOf(run, &e))
	e.ends.code = rule.Error
	warnings := slices.Clip(ev.warnings) // the evidence's: an append must copy
	for _, w := range rule.Warnings {
		warnings = append(warnings, interaction.Diagnostic{Code: w})
	}
	switch rule.Outcome {
	case fsm.EventTurnNeedsInput:
		e.asks = ev.asking(node)
		warnings = append(warnings, ev.questionWarnings...)
	case fsm.EventTurnFailed:
		e.ends.message = ev.failureMessage(rule)
		switch {
		case rule.Error == fsm.CodeBudgetExhausted:
			e.ends.message = spentReason(run.Budget)
		case ev.Process.Status != engine.OK:
			e.ends.code = cmp.Or(ev.Process.Code, statusCodes[ev.Process.Status])
		}
	}
	e.turn.warnings = warnings
	return transition(run, rule.Outcome, &e)
}

// Repairable reports whether the gate would fail the turn only for its output, and the agent's
// session can continue.
func Repairable(run *store.Run, ev *Evidence) bool {
	if ev.sessionFault != nil {
		return false
	}
	e := ev.effects()
	facts := factsOf(run, &e)
	return (facts.Has(fsm.FactSticky) || facts.Has(fsm.FactHandlePresent)) &&
		fsm.Decide(facts).Error == fsm.CodeOutputInvalid
}

// RefusedOutcome fails a run whose turn's outcome the contract or the store refuses.
func RefusedOutcome(run *store.Run, refusal error, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventTurnFailed, &effects{
		now: now, ends: ending{code: fsm.CodeProtocolSchemaViolation, message: Shortened(refusal.Error())},
	})
}

func (ev *Evidence) processFault() string {
	return Shortened(cmp.Or(ev.Process.Detail, "the turn's process "+string(ev.Process.Status)))
}

func (ev *Evidence) failureMessage(rule fsm.GateRule) string {
	if ev.Process.Status != engine.OK {
		return ev.processFault()
	}
	switch rule.Error {
	case fsm.CodeOutputInvalid:
		return Shortened(fmt.Sprintf("the output is not valid: %v", ev.OutputFault))
	case fsm.CodeInteractiveMaxAttemptExceeded:
		return "max_attempt is reached and the run is not complete"
	case fsm.CodeSessionResumeFailed:
		if ev.sessionFault != nil {
			return fmt.Sprintf("the session that the engine returned cannot be stored, so a wait could never be "+
				"resumed: %v", ev.sessionFault)
		}
		return "the engine gave no session handle, so a wait could never be resumed"
	}
	return string(rule.Error)
}
