package fsm_test

import (
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/fsm"
)

// A reply settles the question that it names; nothing else does.
func ExampleNext() {
	t, err := fsm.Next(fsm.StateWaitingUser, fsm.EventInteractionReplyAccepted,
		fsm.FactPendingMatches|fsm.FactRuleMet)
	fmt.Println(t.ID, t.From, "→", t.To, "slot", t.Slot, err)

	_, err = fsm.Next(fsm.StateWaitingUser, fsm.EventInteractionReplyAccepted, 0)
	var refusal *fsm.Refusal
	if errors.As(err, &refusal) {
		fmt.Println(refusal.Code, refusal.Rule)
	}
	// Output:
	// TR-06 waiting_user → queued slot keep <nil>
	// GUARD_NOT_MET TR-06
}

// A turn of an interactive run ended well, with valid output but without the done marker.
func ExampleDecide() {
	rule := fsm.Decide(fsm.FactProcessOK | fsm.FactInteractive | fsm.FactSchemaDeclared | fsm.FactOutputValid)
	fmt.Println(rule.ID, rule.Outcome, rule.Warnings)
	// Output:
	// CG-09 turn.succeeded [INTERACTIVE_COMPLETED_WITHOUT_DONE_MARKER]
}

func ExampleWait() {
	rule, _ := fsm.Wait(fsm.ProfileStickyProcess, true)
	fmt.Println(rule.ID, "slot", rule.Slot, "at the deadline:", rule.OnDeadline)
	// Output:
	// WP-03 slot keep at the deadline: fail
}
