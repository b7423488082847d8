package lifecycle_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// A reply carries an idempotency key, for example the id of a chat message. If the caller does not
// know whether the reply arrived, it sends the reply again: the reply counts once and returns the
// first receipt, even when the run has ended.
func ExampleClient_Reply() {
	ctx := context.Background()
	lc, stop := start(lifecycle.Config{Engine: shipper})
	defer stop()
	run, err := lc.Submit(ctx, lifecycle.Spec{Prompt: "Release version 2."})
	must(err)
	until(lc, run.ID, lifecycle.TypeInputRequired)

	reply := lifecycle.Reply{ID: 1, Text: "yes", Key: "msg-42", Actor: lifecycle.Actor{ID: "ada"}}
	first, err := lc.Reply(ctx, run.ID, reply)
	must(err)
	run, err = lc.Wait(ctx, run.ID)
	must(err)
	fmt.Println(run.FinalText)
	again, err := lc.Reply(ctx, run.ID, reply)
	fmt.Println("the same receipt:", again.AcceptedAt.Equal(first.AcceptedAt), err)
	reply.Text = "no"
	_, err = lc.Reply(ctx, run.ID, reply)
	fmt.Println("another text under that key is refused:", errors.Is(err, lifecycle.ErrKeyConflict))
	// Output:
	// shipped
	// the same receipt: true <nil>
	// another text under that key is refused: true
}

// payer asks whether it may call a tool, and calls it only with the approved arguments.
var payer = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	q, err := engine.ApprovalOf("Pay the invoice?", "pay", map[string]any{"to": "ACME", "amount": 420})
	if err != nil {
		return engine.Outcome{}, err
	}
	if len(t.Answers) == 0 {
		return engine.Ask(q), nil
	}
	arguments, err := t.Approved(q)
	if err != nil { // rejected, decided automatically, or the invoice has changed
		return engine.Done("not paid"), nil
	}
	return engine.Done("paid " + string(arguments)), nil
})

// Ada approves a payment, and, for an hour, payments of this run to the same receiver up to a limit.
func ExampleClient_Reply_remember() {
	ctx := context.Background()
	pays := engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		if a := t.Answers; len(a) > 0 && a[0].Decision != lifecycle.Approve {
			return engine.Done("not paid"), nil
		}
		amounts := []int{40, 90, 600}
		call := map[string]any{"to": "ACME", "amount": amounts[t.Attempt-1]}
		q, err := engine.ApprovalOf("Pay?", "pay", call)
		return engine.Ask(q), err
	})
	lc, stop := start(lifecycle.Config{Engine: pays, Remember: 8 * time.Hour})
	defer stop()
	_, err := lc.Submit(ctx, lifecycle.Spec{ID: "r", Prompt: "Pay the invoices."})
	must(err)
	until(lc, "r", lifecycle.TypeInputRequired)

	ada := lc.As(lifecycle.Actor{ID: "ada"})
	reply := lifecycle.Reply{ID: 1, Decision: lifecycle.Approve}
	reply.Remember = &lifecycle.Remember{Until: time.Now().Add(time.Hour), Equal: []string{"/to"},
		Most: []lifecycle.Limit{{Path: "/amount", Limit: "500"}}}
	_, err = ada.Reply(ctx, "r", reply)
	must(err)
	for ev, err := range lc.Events(ctx, "r", 0) {
		must(err)
		var asked lifecycle.InputRequired
		if ev.Type == lifecycle.TypeInputRequired && ev.Decode(&asked) == nil && asked.InteractionID == 3 {
			break
		}
	}
	history, err := lc.History(ctx, "r")
	must(err)
	for _, r := range history {
		fmt.Println(string(r.Question.Subject.Arguments), r.Decision, r.Actor)
	}
	must(lc.Forget(ctx, "r", 1))
	// Output:
	// {"amount":40,"to":"ACME"} approve ada
	// {"amount":90,"to":"ACME"} approve memory:1
	// {"amount":600,"to":"ACME"}
}

// A person approves a call of a tool with edited arguments. The reply carries the digest of the
// question that the person saw, so a question that has changed cannot be approved by mistake.
func ExampleClient_Reply_approval() {
	ctx := context.Background()
	lc, stop := start(lifecycle.Config{Engine: payer})
	defer stop()
	_, err := lc.Submit(ctx, lifecycle.Spec{ID: "invoice-7", Prompt: "Pay invoice 7."})
	must(err)
	until(lc, "invoice-7", lifecycle.TypeInputRequired)

	shown, err := lc.Pending(ctx, "invoice-7")
	must(err)
	fmt.Println("may I call", shown.Subject.Tool, string(shown.Subject.Arguments))
	edited := lifecycle.Reply{ID: shown.ID, Decision: lifecycle.Edit, Seen: shown.Digest(),
		Value: json.RawMessage(`{"amount":400,"to":"ACME"}`)}

	stale := edited
	stale.Seen = "sha256:of another question"
	_, err = lc.Reply(ctx, "invoice-7", stale)
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

// order is the value of a form. The module interaction/typed can generate the schema from the type.
type order struct {
	Colour string `json:"colour"`
	Count  int    `json:"count"`
}

const orderSchema = `{"type": "object", "required": ["colour", "count"], "properties": {
	"colour": {"enum": ["red", "blue"]}, "count": {"type": "integer", "minimum": 1}}}`

var buyer = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) == 0 {
		return engine.Ask(engine.Question{Kind: engine.FillFields, Prompt: "What shall I order?",
			Schema: json.RawMessage(orderSchema)}), nil
	}
	form, err := engine.As[order](t.Answers[0])
	if err != nil { // the answer is a deadline's, not a person's
		return engine.Done("ordered nothing"), nil
	}
	return engine.Done(fmt.Sprintf("ordered %d in %s", form.Count, form.Colour)), nil
})

// A question with a schema is a form. A value that does not match is refused before anything is
// stored, with the place of each fault; the question stays open.
func ExampleClient_Reply_form() {
	ctx := context.Background()
	lc, stop := start(lifecycle.Config{Engine: buyer})
	defer stop()
	_, err := lc.Submit(ctx, lifecycle.Spec{ID: "shirts", Prompt: "Order shirts."})
	must(err)
	until(lc, "shirts", lifecycle.TypeInputRequired)

	_, err = lc.Reply(ctx, "shirts", lifecycle.Reply{ID: 1, Value: json.RawMessage(`{"colour": "red", "count": 0}`)})
	var refused *lifecycle.ValueError
	if errors.As(err, &refused) {
		for _, fault := range refused.Faults {
			fmt.Printf("%s: %s\n", fault.Pointer, fault.Want)
		}
	}
	_, err = lc.Reply(ctx, "shirts", lifecycle.Reply{ID: 1, Value: json.RawMessage(`{"colour": "red", "count": 3}`)})
	must(err)
	run, err := lc.Wait(ctx, "shirts")
	must(err)
	fmt.Println(run.FinalText)
	// Output:
	// /count: must be >= 1 but found 0
	// ordered 3 in red
}

// planned are the tool calls of one answer of a model. Two of them have the same arguments.
var planned = []struct{ id, arguments string }{
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
		if err != nil { // rejected, decided automatically, or the call has changed
			report += q.Ref + " is not paid; "
			continue
		}
		report += q.Ref + " pays " + string(arguments) + "; "
	}
	return engine.Done(report), nil
})

// A turn asks about three tool calls at once. People decide about each call separately and in any
// order; the run continues when all are decided.
func ExampleClient_Reply_calls() {
	ctx := context.Background()
	lc, stop := start(lifecycle.Config{Engine: cashier})
	defer stop()
	_, err := lc.Submit(ctx, lifecycle.Spec{ID: "invoices", Prompt: "Pay the invoices."})
	must(err)
	until(lc, "invoices", lifecycle.TypeInputRequired)

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
