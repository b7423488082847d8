package contract

import (
	"fmt"
	"slices"
)

// eventLaws: the events of each transition, in order (section F).
func eventLaws() []law {
	told := func(l *Lifecycle, visit func(t Transition, types string) string) string {
		for _, t := range l.Transitions {
			if wrong := visit(t, emitted(t.Emits)); wrong != "" {
				return t.ID + ": " + wrong
			}
		}
		return ""
	}
	expect := func(event, types string) func(l *Lifecycle) string {
		return func(l *Lifecycle) string {
			return told(l, func(t Transition, got string) string {
				if t.Event == event && got != types {
					return fmt.Sprintf("tells %s instead of %s", got, types)
				}
				return ""
			})
		}
	}
	const changed, final, warnings = "conversation.state.changed", "assistant.message.final? ", "diagnostic.warning* "
	return []law{
		{"F1 a run begins with one event", func(l *Lifecycle) string {
			return same([]string{emitted(l.Submission.Emits)}, "[conversation.started]")
		}},
		{"F2 a change of state is told once, and nothing else as one", func(l *Lifecycle) string {
			return told(l, func(t Transition, _ string) string {
				n := 0
				for _, e := range t.Emits {
					if e.Type == changed {
						n++
					}
				}
				if changes := t.From != t.To; changes != (n == 1) || n > 1 {
					return fmt.Sprintf("told %d times", n)
				}
				return ""
			})
		}},
		{"F2 a cancel tells its state at once", expect("run.canceled", "["+changed+"]")},
		{"F2 E4 what a restart fails may come with warnings", expect("restart.reconcile_failed", "["+warnings+changed+
			"]")},
		{"E1 what a restart preserves tells nothing", expect("restart.preserve_waiting", "[]")},
		{"E4 what is queued again may come with warnings", expect("restart.requeue", "["+warnings+changed+"]")},
		{"J2 what is put off stands directly before its change, and may come with warnings", expect("turn.yielded",
			"["+warnings+"turn.yielded "+changed+"]")},
		{"J5 J13 a hold of a wait, or for a budget, stands alone", expect("run.blocked", "[run.blocked]")},
		{"J5 the end of a hold stands alone", expect("run.unblocked", "[run.unblocked]")},
		{"J5 a run that is given up tells how it ended", expect("run.given_up", "["+changed+"]")},
		{"A2 a start tells its state", expect("turn.started", "["+changed+"]")},
		{"F3 a reply stands directly before its change", expect("interaction.reply.accepted",
			"[interaction.reply.accepted "+changed+" interaction.closed*]")},
		{"F4 a decision stands directly before its change", expect("interaction.auto_decide.timeout",
			"[interaction.auto_decide.timeout+ "+changed+"]")},
		{"F5 F6 the question stands directly beside the wait, after the final message", expect("turn.needs_input",
			"["+final+warnings+changed+" user.input.required+]")},
		{"K2 an answer to one of several questions stands alone", expect("interaction.recorded",
			"[interaction.recorded]")},
		{"K7 a default answer stands directly before its change", expect("interaction.default.timeout",
			"[interaction.default.timeout "+changed+"]")},
		{"K7 a step stands alone", expect("interaction.step", "[user.input.reminder? user.input.escalated?]")},
		{"K7 an end that is moved stands alone", expect("interaction.changed", "[interaction.changed]")},
		{"N7 a note has one event", expect("interaction.noted", "[interaction.noted]")},
		{"F6 the final message precedes success", expect("turn.succeeded", "["+final+warnings+changed+"]")},
		{"F6 the final message precedes failure", expect("turn.failed", "["+final+warnings+changed+"]")},
		{"D3 an ended wait may come with warnings", expect("interaction.wait.timeout", "["+warnings+changed+"]")},
		{"D6 a lost process may come with warnings", expect("interaction.process.lost", "["+warnings+changed+"]")},
		{"F7 every type has its schema", func(l *Lifecycle) string {
			return same(l.PayloadTypes(), "conversation.started", changed, "interaction.reply.accepted",
				"interaction.auto_decide.timeout", "user.input.required", "assistant.message.final",
				"assistant.message.intermediate", "diagnostic.warning", "turn.yielded", "run.blocked",
				"run.unblocked", "interaction.recorded", "interaction.closed", "user.input.reminder",
				"user.input.escalated", "interaction.default.timeout", "interaction.changed",
				"interaction.forgotten", "interaction.noted")
		}},
		{"B7 B11 D3 D6 E4 F6 I12 every code of the requirements is there", func(l *Lifecycle) string {
			for _, code := range []string{
				"INTERACTIVE_MAX_ATTEMPT_EXCEEDED", "SESSION_RESUME_FAILED", "INTERACTION_WAIT_TIMEOUT",
				"INTERACTION_PROCESS_LOST", "ORCHESTRATOR_RESTART_INTERRUPTED", "PROTOCOL_SCHEMA_VIOLATION",
				"INTERACTIVE_AUTO_DECISION_LIMIT_EXCEEDED", "RUN_CANCELED", "OUTPUT_INVALID", "ENGINE_FAILED",
				"ENGINE_UNAVAILABLE", "TURN_TIMEOUT", "TURN_INTERRUPTED", "WORKSPACE_MISSING",
				"RUN_TERMINAL", "EVENT_NOT_ALLOWED", "GUARD_NOT_MET",
			} {
				if !slices.Contains(Codes(l.Errors), code) {
					return code + " is missing"
				}
			}
			for _, code := range []string{"INTERACTIVE_COMPLETED_WITHOUT_DONE_MARKER",
				"INTERACTIVE_SOFT_COMPLETION_SCHEMA_TOO_PERMISSIVE"} {
				if !slices.Contains(Codes(l.Warnings), code) {
					return code + " is missing"
				}
			}
			return ""
		}},
	}
}
