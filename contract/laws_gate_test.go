package contract

import (
	"fmt"
	"slices"
)

// outcome is table B of the requirements for a finished turn.
type outcome struct {
	event, code string
	warnings    []string
}

const (
	soft       = "INTERACTIVE_COMPLETED_WITHOUT_DONE_MARKER"
	permissive = "INTERACTIVE_SOFT_COMPLETION_SCHEMA_TOO_PERMISSIVE"
)

// tableB is section B, written as prose reads: which requirement decides, and what follows.
func tableB(f Facts) (requirement string, o outcome) {
	valid := !f["schema_declared"] || f["output_valid"]
	switch {
	case !f["process_ok"]:
		return "B1", outcome{event: "turn.failed", code: "ENGINE_FAILED"}
	case !f["interactive"] && valid:
		return "B2", outcome{event: "turn.succeeded"}
	case !f["interactive"]:
		return "B3", outcome{event: "turn.failed", code: "OUTPUT_INVALID"}
	case f["done_marker"] && !f["not_done_said"] && valid:
		return "B4", outcome{event: "turn.succeeded"}
	case f["done_marker"] && !f["not_done_said"]:
		return "B5", outcome{event: "turn.failed", code: "OUTPUT_INVALID"}
	case !f["question_asked"] && !f["not_done_said"] && f["schema_declared"] && f["output_valid"] &&
		f["schema_permissive"]:
		return "B6 permissive", outcome{event: "turn.succeeded", warnings: []string{soft, permissive}}
	case !f["question_asked"] && !f["not_done_said"] && f["schema_declared"] && f["output_valid"]:
		return "B6", outcome{event: "turn.succeeded", warnings: []string{soft}}
	case f["attempts_exhausted"]:
		return "B7", outcome{event: "turn.failed", code: "INTERACTIVE_MAX_ATTEMPT_EXCEEDED"}
	case !f["sticky"] && !f["handle_present"]:
		return "B11", outcome{event: "turn.failed", code: "SESSION_RESUME_FAILED"}
	case f["sticky"] && f["budget_spent"]:
		return "J13", outcome{event: "turn.failed", code: "BUDGET_EXHAUSTED"}
	case f["not_done_said"] && (f["done_marker"] || f["output_valid"]):
		return "B8 not done", outcome{event: "turn.needs_input"}
	case f["question_asked"] && f["output_valid"]:
		return "B10", outcome{event: "turn.needs_input"}
	}
	return "B8", outcome{event: "turn.needs_input"}
}

// gateFacts are the facts of section B, and the fact added by J13.
var gateFacts = []string{"process_ok", "interactive", "schema_declared", "output_valid", "schema_permissive",
	"done_marker", "not_done_said", "question_asked", "attempts_exhausted", "sticky", "handle_present",
	"budget_spent"}

// impossible reports whether the facts contradict each other: an output is judged by a declared
// schema only.
func impossible(f Facts) bool {
	return !f["schema_declared"] && (f["output_valid"] || f["schema_permissive"])
}

// withOthers adds every fact that section B does not speak of.
func withOthers(l *Lifecycle, f Facts) Facts {
	out := allTrue(Names(l.Facts))
	for _, name := range gateFacts {
		out[name] = f[name]
	}
	return out
}

// gateLaws: for every assignment of the facts that section B speaks of, the contract decides as the
// section does.
func gateLaws() []law {
	byRequirement := func(id string) func(l *Lifecycle) string {
		return func(l *Lifecycle) string {
			wrong, cases := "", 0
			Assignments(gateFacts, func(f Facts) bool {
				requirement, want := tableB(f)
				if requirement != id || impossible(f) {
					return true
				}
				cases++
				// Whatever else holds of the run makes no difference.
				for _, f := range []Facts{f, withOthers(l, f)} {
					got, ok := l.Decide(f)
					if !ok || got.Outcome != want.event || got.Error != want.code || !slices.Equal(got.Warnings,
						want.warnings) {
						wrong = fmt.Sprintf("%s decides %s %s %v with %v", got.ID, got.Outcome, got.Error, got.Warnings,
							f)
					}
				}
				return wrong == ""
			})
			if cases == 0 {
				return "no case"
			}
			return wrong
		}
	}
	return []law{
		{"B1 a failed process fails, whatever was said", byRequirement("B1")},
		{"B2 an automatic run succeeds with valid output, or without a schema", byRequirement("B2")},
		{"B3 an automatic run fails with invalid output", byRequirement("B3")},
		{"B4 marker and valid output succeed", byRequirement("B4")},
		{"B5 marker and invalid output fail, and never wait", byRequirement("B5")},
		{"B6 valid output without the marker succeeds softly, with a warning", byRequirement("B6")},
		{"B6 against a schema that accepts everything, with two", byRequirement("B6 permissive")},
		{"B7 the last attempt fails", byRequirement("B7")},
		{"B8 B9 otherwise the run waits", byRequirement("B8")},
		{"B8 an output that says it is not done waits, beside the marker and though it is valid",
			byRequirement("B8 not done")},
		{"B10 a question wins over soft completion", byRequirement("B10")},
		{"B11 no handle fails, never waits", byRequirement("B11")},
		{"J13 a resident process that has used up its budget asks nobody any more", byRequirement("J13")},
	}
}

// waitLaws: section D.
func waitLaws() []law {
	row := func(profile string, strict bool, slot, action string) func(l *Lifecycle) string {
		return func(l *Lifecycle) string {
			got, _ := l.Wait(profile, strict)
			return same([]string{got.Slot, got.OnDeadline}, slot, action)
		}
	}
	return []law{
		{"D1 resumable and strict: released, waits on", row("resumable", true, "release", "keep_waiting")},
		{"D2 resumable and lenient: released, decides", row("resumable", false, "release", "auto_decide")},
		{"D3 sticky and strict: held, fails", row("sticky_process", true, "keep", "fail")},
		{"D4 sticky and lenient: held, decides", row("sticky_process", false, "keep", "auto_decide")},
		{"D two profiles, A6 two modes", func(l *Lifecycle) string {
			return same(Names(l.Profiles), "resumable", "sticky_process") + same(Names(l.Modes), "auto", "interactive")
		}},
		{"D1 D2 D3 D4 what the policy says at the deadline is what the machine allows", func(l *Lifecycle) string {
			for _, w := range l.Waiting {
				facts := Facts{"pending_matches": true, "deadline_passed": true, "auto_decision_left": true,
					"rule_met": true, "wait_fails": w.OnDeadline == "fail",
					"wait_decides": w.OnDeadline == "auto_decide",
					"sticky":       w.Profile == "sticky_process"}
				decides := l.Next("waiting_user", "interaction.auto_decide.timeout", facts).Transition != nil
				fails := l.Next("waiting_user", "interaction.wait.timeout", facts).Transition != nil
				if decides != (w.OnDeadline == "auto_decide") || fails != (w.OnDeadline == "fail") {
					return fmt.Sprintf("%s: %s, but the machine decides: %t, fails: %t", w.ID, w.OnDeadline, decides,
						fails)
				}
			}
			return ""
		}},
	}
}
