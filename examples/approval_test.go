package examples_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// payer asks whether it may call a tool, and calls it with what was approved and nothing else.
var payer = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	q, err := engine.ApprovalOf("Pay the invoice?", "pay", map[string]any{"to": "ACME", "amount": 420})
	if err != nil {
		return engine.Outcome{}, err
	}
	if len(t.Answers) == 0 {
		return engine.Ask(q), nil
	}
	arguments, err := t.Approved(q)
	if err != nil { // rejected, or nobody has decided, or the invoice is another one by now
		return engine.Done("not paid"), nil
	}
	return engine.Done("paid " + string(arguments)), nil
})

// A person approves a call of a tool with edited arguments. The reply carries the digest of what
// the person saw: a question that has changed meanwhile is not approved by mistake.
func Example_approval() {
	ctx := context.Background()
	lc, err := lifecycle.New(lifecycle.Config{Engine: payer, Forgiving: true})
	must(err)
	defer lc.Close()
	defer serve(lc)()
	_, err = lc.Submit(ctx, lifecycle.Spec{ID: "invoice-7", Prompt: "Pay invoice 7."})
	must(err)
	untilAsked(ctx, lc, "invoice-7")

	shown, err := lc.Pending(ctx, "invoice-7")
	must(err)
	fmt.Println("may I call", shown.Subject.Tool, string(shown.Subject.Arguments))
	edited := lifecycle.Reply{ID: shown.ID, Decision: lifecycle.Edit, Seen: shown.Digest(),
		Value: json.RawMessage(`{"amount":400,"to":"ACME"}`)}

	another := edited
	another.Seen = "sha256:of another question"
	_, err = lc.Reply(ctx, "invoice-7", another)
	fmt.Println("another question seen, refused:", errors.Is(err, lifecycle.ErrQuestionChanged))
	_, err = lc.Reply(ctx, "invoice-7", edited)
	must(err)
	run, err := lc.Wait(ctx, "invoice-7")
	must(err)
	fmt.Println(run.FinalText)
	// Output:
	// may I call pay {"amount":420,"to":"ACME"}
	// another question seen, refused: true
	// paid {"amount":400,"to":"ACME"}
}
