package fsm_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/fsm"
)

// set is the facts of these names.
func set(t testing.TB, names ...string) (facts fsm.Facts) {
	t.Helper()
	for _, name := range names {
		fact, ok := fsm.FactNamed(name)
		require.True(t, ok, name)
		facts |= fact
	}
	return facts
}

// taken is the id of the transition that is taken, empty when the event is refused.
func taken(tr contract.Transition, facts fsm.Facts) string {
	got, err := fsm.Next(fsm.State(tr.From), fsm.Event(tr.Event), facts)
	if err != nil {
		return ""
	}
	return got.ID
}

// A3 A7: the facts of the contract are sufficient to take an arrow, and it is not taken if any of
// them is missing, or an excluded one is present.
func TestNextNeedsEachFactOfAGuard(t *testing.T) {
	t.Parallel()
	for _, tr := range contract.Load().Transitions {
		facts := set(t, tr.All...)
		got, err := fsm.Next(fsm.State(tr.From), fsm.Event(tr.Event), facts)
		require.NoError(t, err, tr.ID)
		require.Equal(t, tr.ID, got.ID)
		require.Equal(t, facts, got.All, tr.ID)
		require.Equal(t, set(t, tr.None...), got.None, tr.ID)
		for _, name := range tr.All {
			require.NotEqual(t, tr.ID, taken(tr, facts&^set(t, name)), "without %s", name)
		}
		for _, name := range tr.None {
			require.NotEqual(t, tr.ID, taken(tr, facts|set(t, name)), "with %s", name)
		}
	}
}

// B1 B2 B3 B4 B5 B6 B7 B8 B9 B10 B11: the gate decides as the contract does, by each rule, whatever
// is known of a turn.
func TestDecideAgreesWithTheContract(t *testing.T) {
	t.Parallel()
	l := contract.Load()
	var guards []contract.Guard
	for _, r := range l.Gate {
		guards = append(guards, r.Guard)
	}
	seen := map[string]bool{}
	contract.Assignments(contract.Mentioned(guards...), func(facts contract.Facts) bool {
		var known fsm.Facts
		for name, holds := range facts {
			if holds {
				known |= set(t, name)
			}
		}
		want, ok := l.Decide(facts)
		require.True(t, ok)
		got := fsm.Decide(known)
		require.Equal(t, want.ID, got.ID, "%s", known)
		require.Equal(t, set(t, want.All...), got.All, want.ID)
		require.Equal(t, set(t, want.None...), got.None, want.ID)
		seen[got.ID] = true
		return true
	})
	require.Len(t, seen, len(l.Gate), "each rule decides something")
}

// F6: an engine's own warnings are in the contract's namespace for them, and no code of the
// contract is.
func TestWarningOwnHasThePrefix(t *testing.T) {
	t.Parallel()
	space := contract.Load().OwnWarnings
	for code, own := range map[string]bool{
		"X_DISK_FULL": true, "X_2": true, "X__": true, "X_" + strings.Repeat("A", 60): true,
		"": false, "X": false, "X_": false, "X_a": false, "X_A B": false, "X_Ä": false, "Y_A": false, "x_A": false,
		"AX_A": false, "X_A\n": false,
		"X_" + strings.Repeat("A", 61): false, "MY_OWN_WARNING": false,
	} {
		require.Equal(t, own, fsm.Warning(code).Own(), code)
		require.Equal(t, own, space.Holds(code), code)
		require.Equal(t, own, fsm.Warning(code).Declared(), code)
	}
	for _, w := range fsm.Warnings() {
		require.False(t, w.Own(), w)
		require.True(t, w.Declared(), w)
	}
}

// Each fact has a separate bit, and its name from the contract.
func TestFactsHaveDistinctBits(t *testing.T) {
	t.Parallel()
	facts := map[fsm.Facts]string{
		fsm.FactSlotHeld: "slot_held", fsm.FactInteractive: "interactive", fsm.FactSticky: "sticky",
		fsm.FactHandlePresent:  "handle_present",
		fsm.FactPendingMatches: "pending_matches", fsm.FactDeadlinePassed: "deadline_passed",
		fsm.FactAutoDecisionLeft: "auto_decision_left", fsm.FactWorkerGone: "worker_gone",
		fsm.FactContextLost: "context_lost",
		fsm.FactRepeatable:  "repeatable", fsm.FactAttemptsExhausted: "attempts_exhausted",
		fsm.FactProcessOK:  "process_ok",
		fsm.FactDoneMarker: "done_marker", fsm.FactQuestionAsked: "question_asked",
		fsm.FactSchemaDeclared: "schema_declared",
		fsm.FactOutputValid:    "output_valid", fsm.FactSchemaPermissive: "schema_permissive",
		fsm.FactNotDoneSaid: "not_done_said", fsm.FactRepeatsExhausted: "repeats_exhausted",
		fsm.FactPassing: "passing", fsm.FactHeld: "held", fsm.FactBudgetSpent: "budget_spent",
		fsm.FactRuleMet: "rule_met", fsm.FactOwnWait: "own_wait",
		fsm.FactWaitFails: "wait_fails", fsm.FactWaitDecides: "wait_decides",
	}
	require.Len(t, facts, len(contract.Load().Facts))
	for fact, name := range facts {
		require.Equal(t, name, fact.String())
		require.Equal(t, fact, set(t, name))
	}
}
