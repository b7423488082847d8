package examples_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// order is what the form asks for. The module interaction/typed makes such a schema from the type.
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
	if err != nil { // nobody has filled in the form: a deadline has decided
		return engine.Done("ordered nothing"), nil
	}
	return engine.Done(fmt.Sprintf("ordered %d in %s", form.Count, form.Colour)), nil
})

// A question with a schema is a form. A value that does not fit is refused, with the place of each
// fault, before anything is stored; the question stays open.
func Example_form() {
	ctx := context.Background()
	lc, err := lifecycle.New(lifecycle.Config{Engine: buyer, Forgiving: true})
	must(err)
	defer lc.Close()
	defer serve(lc)()
	_, err = lc.Submit(ctx, lifecycle.Spec{ID: "shirts", Prompt: "Order shirts."})
	must(err)
	untilAsked(ctx, lc, "shirts")

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
