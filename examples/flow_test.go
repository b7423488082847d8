package examples_test

import (
	"context"
	"fmt"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/lifecycle"
)

type Order struct {
	Customer string   `json:"customer"`
	Items    []string `json:"items"`
}

type Shipped struct {
	Charge  string   `json:"charge"`
	Parcels []string `json:"parcels"`
}

// orders is straight-line code: it charges, asks, ships item by item, and writes a mail. Whatever
// dies in between, no step whose result is stored is executed again, and a run that waits costs a
// row.
var orders = flow.New("order", func(c *flow.Ctx, in Order) (out Shipped, err error) {
	out.Charge, err = flow.Step(c, "charge", charge, flow.Policy{Retries: 3})
	if err != nil {
		return out, err
	}
	c.Defer("refund", func(context.Context) error { return say("refunded", out.Charge) }) // if the order fails

	where, err := flow.Ask[string](c, "address", engine.Question{Kind: engine.OpenText, Prompt: "Ship where?"})
	if err != nil {
		return out, err
	}
	for _, item := range in.Items {
		parcel, err := flow.Step(c, "ship", func(context.Context) (string, error) { return item + " to " + where, nil })
		if err != nil {
			return out, err
		}
		out.Parcels = append(out.Parcels, parcel)
	}
	if err := c.Sleep(second); err != nil { // a week, in earnest
		return out, err
	}
	_, err = flow.Step(c, "mail", func(context.Context) (bool, error) { return true, say("mail to", in.Customer) })
	return out, err
})

// charge gives the bank a key that is the same in each try: the bank charges once.
func charge(ctx context.Context) (string, error) { return "charge-" + flow.Key(ctx), nil }

func say(words ...any) error {
	_, err := fmt.Println(words...)
	return err
}

// Straight-line Go asks, sleeps and goes on, in any process.
func Example_flow() {
	ctx := context.Background()
	lc, err := lifecycle.New(lifecycle.Config{Engine: orders, Forgiving: true, OnInterrupt: lifecycle.Repeat})
	must(err)
	defer lc.Close()
	defer serve(lc)()

	in := []byte(`{"customer": "ada", "items": ["tea", "cup"]}`)
	run, err := lc.Submit(ctx, lifecycle.Spec{ID: "order-7", Input: in})
	must(err)
	untilAsked(ctx, lc, run.ID)
	_, err = lc.Reply(ctx, run.ID, lifecycle.Reply{ID: 1, Text: "Rome"})
	must(err)
	run, err = lc.Wait(ctx, run.ID)
	must(err)
	fmt.Println(string(run.Output))
	// Output:
	// mail to ada
	// {"charge":"charge-order-7/1/charge","parcels":["tea to Rome","cup to Rome"]}
}
