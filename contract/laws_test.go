package contract

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// law is a rule about the contract that was written from the requirements, not from the contract.
// It returns the fault, or "".
type law struct {
	name  string // begins with the requirement's id
	holds func(l *Lifecycle) string
}

// TestContractKeepsTheLawsOfTheRequirements: the contract agrees with the requirements. Each
// sub-test is named after its requirement.
func TestContractKeepsTheLawsOfTheRequirements(t *testing.T) {
	t.Parallel()
	for _, law := range laws() {
		t.Run(law.name, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, law.holds(Load()))
		})
	}
}

func laws() []law {
	return slices.Concat(arrowLaws(), stateLaws(), eventLaws(), gateLaws(), waitLaws())
}

// arrow is a transition as the requirements ask for it: with exactly all of needs and none of bars,
// it is taken.
type arrow struct {
	requirement, from, event string
	needs, bars              []string
	to, slot, code           string
}

var arrows = []arrow{
	{"A2 a claimed run starts, D5 with its slot", "queued", "turn.started", []string{"slot_held"}, []string{"held",
		"budget_spent"}, "running", "acquire", ""},
	{"B8 an undecided turn waits, D1 D2 without its slot, B11 resumably", "running", "turn.needs_input",
		[]string{"interactive", "handle_present"}, []string{"sticky"}, "waiting_user", "release", ""},
	{"B8 an undecided sticky turn waits, D3 D4 with its slot", "running", "turn.needs_input", []string{"interactive",
		"sticky"}, nil, "waiting_user", "keep", ""},
	{"B4 a completed run succeeds", "running", "turn.succeeded", nil, nil, "succeeded", "release", ""},
	{"B1 a failed turn fails the run", "running", "turn.failed", nil, nil, "failed", "release", "ENGINE_FAILED"},
	{"A4 a reply queues the run, C4 if it names the question", "waiting_user", "interaction.reply.accepted",
		[]string{"pending_matches", "rule_met"}, nil, "queued", "keep", ""},
	{"K2 a reply to one of several questions leaves the others open", "waiting_user", "interaction.recorded",
		[]string{"pending_matches"}, []string{"rule_met"}, "waiting_user", "keep", ""},
	{"A5 a timeout decides, I12 within the limit, I8 for its own question", "waiting_user",
		"interaction.auto_decide.timeout", []string{"pending_matches", "deadline_passed", "wait_decides",
			"auto_decision_left", "rule_met"},
		nil, "queued", "keep", ""},
	{"D3 K7 the end of a wait fails the run", "waiting_user", "interaction.wait.timeout",
		[]string{"pending_matches", "deadline_passed", "wait_fails"}, nil, "failed", "release",
		"INTERACTION_WAIT_TIMEOUT"},
	{"K7 a default answer queues the run", "waiting_user", "interaction.default.timeout", []string{"pending_matches",
		"deadline_passed", "own_wait", "rule_met"}, nil, "queued", "keep", ""},
	{"K7 a step of a question's own wait changes no state", "waiting_user", "interaction.step",
		[]string{"pending_matches", "deadline_passed", "own_wait"}, nil, "waiting_user", "keep", ""},
	{"K7 an end that is moved changes no state", "waiting_user", "interaction.changed", []string{"pending_matches"},
		nil, "waiting_user", "keep", ""},
	{"N7 a note changes no state", "waiting_user", "interaction.noted", []string{"pending_matches"}, nil,
		"waiting_user", "keep", ""},
	{"I12 a lenient wait ends at its limit", "waiting_user", "interaction.wait.timeout", []string{"pending_matches",
		"deadline_passed", "wait_decides"}, []string{"wait_fails", "auto_decision_left"}, "failed", "release",
		"INTERACTIVE_AUTO_DECISION_LIMIT_EXCEEDED"},
	{"D6 a lost process fails the run", "waiting_user", "interaction.process.lost", []string{"sticky"}, nil, "failed",
		"release", "INTERACTION_PROCESS_LOST"},
	{"F9 cancel while queued", "queued", "run.canceled", nil, nil, "canceled", "release", "RUN_CANCELED"},
	{"I6 cancel while running", "running", "run.canceled", nil, nil, "canceled", "release", "RUN_CANCELED"},
	{"F2 cancel while waiting", "waiting_user", "run.canceled", nil, nil, "canceled", "release", "RUN_CANCELED"},
	{"E1 an intact wait is preserved", "waiting_user", "restart.preserve_waiting", []string{"pending_matches",
		"handle_present"}, []string{"sticky"}, "waiting_user", "keep", ""},
	{"E2 a lost session fails the wait", "waiting_user", "restart.reconcile_failed", []string{"context_lost"},
		[]string{"sticky"}, "failed", "release", "SESSION_RESUME_FAILED"},
	{"E3 a lost process fails the wait", "waiting_user", "restart.reconcile_failed", []string{"context_lost", "sticky"},
		nil, "failed", "release", "INTERACTION_PROCESS_LOST"},
	{"E4 a lost worker fails the turn", "running", "restart.reconcile_failed", []string{"worker_gone"},
		[]string{"repeats_exhausted"}, "failed", "release", "ORCHESTRATOR_RESTART_INTERRUPTED"},
	{"J3 a worker that is lost again and again fails the turn with a code of its own", "running",
		"restart.reconcile_failed", []string{"worker_gone", "repeats_exhausted"}, nil, "failed", "release",
		"TURN_REPEAT_LIMIT_EXCEEDED"},
	{"I4 a queued resume without its files fails", "queued", "restart.reconcile_failed", []string{"context_lost"},
		[]string{"sticky"}, "failed", "release", "SESSION_RESUME_FAILED"},
	{"E3 a queued turn without its process fails", "queued", "restart.reconcile_failed", []string{"context_lost",
		"sticky"}, nil, "failed", "release", "INTERACTION_PROCESS_LOST"},
	{"E4 a repeatable turn is queued again", "running", "restart.requeue", []string{"worker_gone", "repeatable"},
		[]string{"attempts_exhausted", "repeats_exhausted", "sticky"}, "queued", "release", ""},
	{"J2 a turn that failed for a passing reason is put off", "running", "turn.yielded", []string{"passing"},
		[]string{"repeats_exhausted", "sticky"}, "queued", "release", ""},
	{"J5 a refused session holds the wait", "waiting_user", "run.blocked", []string{"context_lost"}, []string{"sticky",
		"held"}, "waiting_user", "keep", ""},
	{"J13 a spent budget holds the run before its next turn", "queued", "run.blocked", []string{"budget_spent"},
		[]string{"held"}, "queued", "keep", ""},
	{"J5 a held wait goes on", "waiting_user", "run.unblocked", []string{"held"}, nil, "waiting_user", "keep", ""},
	{"J5 a held run goes on", "queued", "run.unblocked", []string{"held"}, nil, "queued", "keep", ""},
	{"J5 a held run is given up", "queued", "run.given_up", []string{"held"}, nil, "failed", "release",
		"ENGINE_FAILED"},
	{"J5 a held wait is given up", "waiting_user", "run.given_up", []string{"held"}, nil, "failed", "release",
		"SESSION_RESUME_FAILED"},
}

// arrowLaws: each arrow is taken with the fewest facts and with the most, and not if any condition
// fails. Together, there is no other way from state to state (A3).
func arrowLaws() []law {
	var out []law
	for _, a := range arrows {
		out = append(out, law{a.requirement, a.holds})
	}
	return append(out, law{"A3 no other event changes a state", func(l *Lifecycle) string {
		for _, s := range l.StateNames() {
			for _, e := range Names(l.Events) {
				drawn := slices.ContainsFunc(arrows, func(a arrow) bool { return a.from == s && a.event == e })
				if v := l.Next(s, e, allTrue(Names(l.Facts))); !drawn && v.Code != "EVENT_NOT_ALLOWED" &&
					v.Code != "RUN_TERMINAL" {
					return fmt.Sprintf("%s × %s is not refused as such, but %q %s", s, e, v.Code, v.Rule)
				}
			}
		}
		return ""
	}})
}

func (a arrow) holds(l *Lifecycle) string {
	taken := func(facts Facts) bool {
		t := l.Next(a.from, a.event, facts).Transition
		return t != nil && t.To == a.to && t.Slot == a.slot && t.Error == a.code
	}
	most := func() Facts {
		facts := allTrue(Names(l.Facts))
		for _, name := range a.bars {
			delete(facts, name)
		}
		return facts
	}
	if !taken(allTrue(a.needs)) {
		return "not taken with the facts that it needs"
	}
	if !taken(most()) {
		return "not taken when every fact holds that may"
	}
	for _, name := range a.needs {
		facts := most()
		delete(facts, name)
		if taken(facts) {
			return "taken without " + name
		}
	}
	for _, name := range a.bars {
		facts := most()
		facts[name] = true
		if taken(facts) {
			return "taken in spite of " + name
		}
	}
	return ""
}

func stateLaws() []law {
	everything := func(l *Lifecycle, visit func(state, event string, facts Facts, t *Transition,
		code string) string) string {
		for _, s := range l.StateNames() {
			for _, e := range Names(l.Events) {
				wrong := ""
				Assignments(l.guardFacts(s, e), func(facts Facts) bool {
					v := l.Next(s, e, facts)
					wrong = visit(s, e, facts, v.Transition, v.Code)
					return wrong == ""
				})
				if wrong != "" {
					return fmt.Sprintf("%s × %s: %s", s, e, wrong)
				}
			}
		}
		return ""
	}
	return []law{
		{"A1 six states, three of them terminal", func(l *Lifecycle) string {
			var terminal []string
			for _, s := range l.States {
				if s.Terminal {
					terminal = append(terminal, s.Name)
				}
			}
			return same(l.StateNames(), "queued", "running", "waiting_user", "succeeded", "failed", "canceled") +
				same(terminal, "succeeded", "failed", "canceled")
		}},
		{"A1 A7 I7 terminal states absorb everything, and say so", func(l *Lifecycle) string {
			return everything(l, func(s, _ string, _ Facts, t *Transition, code string) string {
				terminal := slices.Contains([]string{"succeeded", "failed", "canceled"}, s)
				if terminal && (t != nil || code != "RUN_TERMINAL") || !terminal && code == "RUN_TERMINAL" {
					return "code " + code
				}
				return ""
			})
		}},
		{"A2 a run begins in the queue, without a slot", func(l *Lifecycle) string {
			return same([]string{l.Submission.To, l.Submission.Slot}, "queued", "release")
		}},
		{"A3 twelve events, J2 one more, J5 three, K2 one, K7 three and N7 one", func(l *Lifecycle) string {
			return same(Names(l.Events), "turn.started", "turn.needs_input", "turn.succeeded", "turn.failed",
				"interaction.reply.accepted", "interaction.auto_decide.timeout",
				"interaction.wait.timeout", "interaction.process.lost", "run.canceled", "restart.preserve_waiting",
				"restart.reconcile_failed", "restart.requeue", "turn.yielded", "run.blocked", "run.unblocked",
				"run.given_up", "interaction.recorded", "interaction.step", "interaction.default.timeout",
				"interaction.changed", "interaction.noted")
		}},
		{"A6 an automatic run never waits", func(l *Lifecycle) string {
			return everything(l, func(s, _ string, facts Facts, t *Transition, _ string) string {
				if !facts["interactive"] && t != nil && t.To == "waiting_user" && s != "waiting_user" {
					return t.ID + " parks it"
				}
				return ""
			})
		}},
		{"A7 a guard that does not hold is told apart from an event that is not allowed", func(l *Lifecycle) string {
			return everything(l, func(s, e string, _ Facts, t *Transition, code string) string {
				drawn := slices.ContainsFunc(arrows, func(a arrow) bool { return a.from == s && a.event == e })
				if t == nil && drawn && code != "GUARD_NOT_MET" {
					return "code " + code
				}
				return ""
			})
		}},
		{"D3 I3 a run that ends holds no slot, and only a start takes one", func(l *Lifecycle) string {
			return everything(l, func(_, e string, _ Facts, t *Transition, _ string) string {
				if t != nil && (l.Terminal(t.To) && t.Slot != "release" ||
					(t.Slot == "acquire") != (e == "turn.started")) {
					return t.ID + " has slot " + t.Slot
				}
				return ""
			})
		}},
		{"B B1 B3 B7 a failed turn may name these codes, and nothing else may", func(l *Lifecycle) string {
			for _, t := range l.Transitions {
				want := map[string][]string{
					"TR-05": {"ENGINE_UNAVAILABLE", "TURN_TIMEOUT", "TURN_INTERRUPTED", "OUTPUT_INVALID",
						"INTERACTIVE_MAX_ATTEMPT_EXCEEDED", "SESSION_RESUME_FAILED", "INTERACTION_PROCESS_LOST",
						"WORKSPACE_MISSING", "PROTOCOL_SCHEMA_VIOLATION", "BUDGET_EXHAUSTED"},
					"TR-15": {"WORKSPACE_MISSING"}, "TR-18": {"WORKSPACE_MISSING"},
					"TR-26": {"ENGINE_UNAVAILABLE", "TURN_TIMEOUT", "TURN_INTERRUPTED", "SESSION_RESUME_FAILED",
						"ORCHESTRATOR_RESTART_INTERRUPTED", "WORKSPACE_MISSING", "BUDGET_EXHAUSTED"},
				}[t.ID]
				if wrong := same(t.Also, want...); wrong != "" {
					return t.ID + ": " + wrong
				}
			}
			return ""
		}},
	}
}

func (l *Lifecycle) guardFacts(state, event string) []string {
	guards := []Guard{{All: []string{"interactive"}}}
	for _, t := range l.Transitions {
		if t.From == state && t.Event == event {
			guards = append(guards, t.Guard)
		}
	}
	return Mentioned(guards...)
}

func same(got []string, want ...string) string {
	if !slices.Equal(got, want) {
		return fmt.Sprintf("%q instead of %q; ", got, want)
	}
	return ""
}
