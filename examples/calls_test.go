package examples_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// toolCall is a call that a model wants to make.
type toolCall struct{ id, arguments string }

// planned are the calls of one answer of the model. Two of them have the same arguments.
var planned = []toolCall{
	{"call-1", `{"to":"ACME","amount":420}`}, {"call-2", `{"to":"Initech","amount":70}`},
	{"call-3", `{"to":"Initech","amount":70}`},
}

// cashier asks about all calls at once, and executes each as it was approved.
var cashier = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	var questions []engine.Question
	for _, c := range planned {
		q, err := engine.ApprovalOf("Pay the invoice?", "pay", json.RawMessage(c.arguments))
		if err != nil {
			return engine.Outcome{}, err
		}
		q.Ref = c.id
		questions = append(questions, q)
	}
	if len(t.Answers) == 0 {
		return engine.AskAll(questions...), nil
	}
	report := ""
	for _, q := range questions {
		arguments, err := t.Approved(q)
		if err != nil { // rejected, or nobody has decided, or it is another call by now
			report += q.Ref + " is not paid; "
			continue
		}
		report += q.Ref + " pays " + string(arguments) + "; "
	}
	return engine.Done(report), nil
})

// An agent calls a tool three times at once. People decide about each call, in any order, and each
// executes what was approved for it.
func Example_calls() {
	ctx := context.Background()
	lc, err := lifecycle.New(lifecycle.Config{Engine: cashier, Forgiving: true})
	must(err)
	defer lc.Close()
	defer serve(lc)()
	_, err = lc.Submit(ctx, lifecycle.Spec{ID: "invoices", Prompt: "Pay the invoices."})
	must(err)
	untilAsked(ctx, lc, "invoices")

	for _, r := range []lifecycle.Reply{
		{ID: 3, Decision: lifecycle.Reject, Text: "paid already"},
		{ID: 1, Decision: lifecycle.Edit, Value: json.RawMessage(`{"to":"ACME","amount":400}`)},
		{ID: 2, Decision: lifecycle.Approve},
	} {
		_, err = lc.Reply(ctx, "invoices", r)
		must(err)
	}
	run, err := lc.Wait(ctx, "invoices")
	must(err)
	fmt.Println(run.FinalText)
	// Output:
	// call-1 pays {"to":"ACME","amount":400}; call-2 pays {"to":"Initech","amount":70}; call-3 is not paid;
}
