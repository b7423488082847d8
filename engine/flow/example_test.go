package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strings"
	"sync/atomic"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/lifecycle"
)

// Helpers of all examples. A host handles an error; here it ends the program.
func must(err error) {
	if err != nil {
		log.Panic(err)
	}
}

// newHost returns a host that executes the functions under their names. A function's turn may
// always be repeated, so OnInterrupt is Repeat.
func newHost(functions map[string]engine.Engine, clock lifecycle.Clock) *lifecycle.Lifecycle {
	lc, err := lifecycle.New(lifecycle.Config{Engines: functions, Forgiving: true, OnInterrupt: lifecycle.Repeat,
		Clock: clock})
	must(err)
	return lc
}

// serving calls Serve until stop is called.
func serving(lc *lifecycle.Lifecycle) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	return func() {
		cancel()
		must(<-served)
	}
}

// until follows a run up to its first event of the type.
func until(lc *lifecycle.Lifecycle, id, eventType string) {
	for ev, err := range lc.Events(context.Background(), id, 0) {
		must(err)
		if ev.Type == eventType {
			return
		}
	}
}

// runOrder submits a run of the function, answers its questions, and returns its end.
func runOrder(function engine.Engine, input string, replies ...lifecycle.Reply) lifecycle.Run {
	ctx := context.Background()
	lc := newHost(map[string]engine.Engine{"order": function}, nil)
	defer lc.Close()
	defer serving(lc)()
	_, err := lc.Submit(ctx, lifecycle.Spec{ID: "order-7", Engine: "order", Input: json.RawMessage(input)})
	must(err)
	for ev, err := range lc.Events(ctx, "order-7", 0) {
		must(err)
		if ev.Type == lifecycle.TypeInputRequired {
			q, err := lc.Pending(ctx, "order-7")
			must(err)
			replies[0].ID = q.ID
			_, err = lc.Reply(ctx, "order-7", replies[0])
			must(err)
			replies = replies[1:]
		}
	}
	run, err := lc.Get(ctx, "order-7")
	must(err)
	return run
}

// laterClock is a clock that the example sets forward.
type laterClock struct {
	lifecycle.SystemClock
	ahead atomic.Int64
}

func (c *laterClock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

type Order struct {
	Customer string   `json:"customer"`
	Items    []string `json:"items"`
}

type Shipped struct {
	Charge  string   `json:"charge"`
	Parcels []string `json:"parcels"`
}

// An order is straight-line code: it charges, asks where to ship, ships item by item, and sends a
// mail. After a crash or a deploy the function continues; stored steps are not executed again. A
// waiting run costs one database row.
func Example() {
	order := flow.New("order", func(c *flow.Ctx, in Order) (out Shipped, err error) {
		out.Charge, err = flow.Step(c, "charge", func(ctx context.Context) (string, error) {
			return "charge-" + flow.Key(ctx), nil // pass the key to the bank: it charges once
		}, flow.Policy{Retries: 3})
		if err != nil {
			return out, err
		}
		where, err := flow.Ask[string](c, "address", engine.Question{Kind: engine.OpenText, Prompt: "Ship where?"})
		if err != nil {
			return out, err
		}
		for _, item := range in.Items {
			parcel, err := flow.Step(c, "ship", func(context.Context) (string, error) {
				return item + " to " + where, nil
			})
			if err != nil {
				return out, err
			}
			out.Parcels = append(out.Parcels, parcel)
		}
		_, err = flow.Step(c, "mail", func(context.Context) (bool, error) {
			fmt.Println("mail to", in.Customer)
			return true, nil
		})
		return out, err
	})
	lc, err := lifecycle.New(lifecycle.Config{Engine: order, Forgiving: true, OnInterrupt: lifecycle.Repeat})
	must(err)
	defer lc.Close()
	defer serving(lc)()

	ctx := context.Background()
	in := []byte(`{"customer": "ada", "items": ["tea", "cup"]}`)
	run, err := lc.Submit(ctx, lifecycle.Spec{ID: "order-7", Input: in})
	must(err)
	until(lc, run.ID, lifecycle.TypeInputRequired)
	_, err = lc.Reply(ctx, run.ID, lifecycle.Reply{ID: 1, Text: "Rome"})
	must(err)
	run, err = lc.Wait(ctx, run.ID)
	must(err)
	fmt.Println(string(run.Output))
	// Output:
	// mail to ada
	// {"charge":"charge-order-7/1/charge","parcels":["tea to Rome","cup to Rome"]}
}

// A failed step is tried again according to its Policy. The stored result counts from then on:
// after the answer the function is called again, but the step is not.
func ExampleStep() {
	tries := 0
	order := flow.New("order", func(c *flow.Ctx, _ struct{}) (string, error) {
		receipt, err := flow.Step(c, "charge", func(ctx context.Context) (string, error) {
			if tries++; tries < 3 {
				return "", errors.New("the bank is busy")
			}
			return "receipt for " + flow.Key(ctx), nil
		}, flow.Policy{Retries: 5, Backoff: time.Microsecond})
		if err != nil {
			return "", err
		}
		_, err = flow.Ask[string](c, "more", engine.Question{Kind: engine.OpenText, Prompt: "Anything else?"})
		return receipt, err
	})
	run := runOrder(order, `{}`, lifecycle.Reply{Text: "no"})
	fmt.Printf("%s after %d tries\n", run.FinalText, tries)
	// Output: receipt for order-7/1/charge after 3 tries
}

// Ask returns the text, the form's value or, with engine.Answer, the whole answer. A form needs a
// schema; interaction/typed derives it from the type.
func ExampleAsk() {
	type parcel struct {
		City  string `json:"city"`
		Boxes int    `json:"boxes"`
	}
	order := flow.New("order", func(c *flow.Ctx, _ struct{}) (string, error) {
		to, err := flow.Ask[parcel](c, "parcel", engine.Question{Kind: engine.FillFields, Prompt: "Where to?",
			Schema: json.RawMessage(`{"type": "object", "required": ["city", "boxes"], "properties": {
				"city": {"type": "string"}, "boxes": {"type": "integer"}}}`)})
		if err != nil {
			return "", err
		}
		today, err := flow.Confirm(c, "sure", engine.Question{Prompt: "Ship today?"})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d boxes to %s; today: %t", to.Boxes, to.City, today), nil
	})
	run := runOrder(order, `{}`, lifecycle.Reply{Value: json.RawMessage(`{"city": "Rome", "boxes": 2}`)},
		lifecycle.Reply{Text: "yes"})
	fmt.Println(run.FinalText)
	// Output: 2 boxes to Rome; today: true
}

// Approve returns the arguments that a person approved, perhaps edited. Execute only these.
func ExampleApprove() {
	order := flow.New("order", func(c *flow.Ctx, _ struct{}) (string, error) {
		q, err := engine.ApprovalOf("Refund the customer?", "refund", map[string]any{"amount": 420})
		if err != nil {
			return "", err
		}
		arguments, err := flow.Approve(c, "refund", q)
		if errors.Is(err, engine.ErrNotApproved) {
			return "no refund", nil
		}
		if err != nil {
			return "", err
		}
		return flow.Step(c, "refund", func(context.Context) (string, error) {
			return "refunded " + string(arguments), nil
		})
	})
	run := runOrder(order, `{}`, lifecycle.Reply{Decision: lifecycle.Edit, Value: json.RawMessage(`{"amount":400}`)})
	fmt.Println(run.FinalText)
	run = runOrder(order, `{}`, lifecycle.Reply{Decision: lifecycle.Reject, Text: "not this one"})
	fmt.Println(run.FinalText)
	// Output:
	// refunded {"amount":400}
	// no refund
}

// Sleep parks the run for a week without a process. Now is the time of the first call.
func ExampleCtx_Sleep() {
	reminder := flow.New("reminder", func(c *flow.Ctx, _ struct{}) (string, error) {
		began := c.Now()
		if err := c.Sleep(7 * 24 * time.Hour); err != nil {
			return "", err
		}
		return fmt.Sprintf("%d days later", c.Now().Sub(began)/(24*time.Hour)), nil
	})
	ctx, clock := context.Background(), new(laterClock) // only tests set Config.Clock
	lc := newHost(map[string]engine.Engine{"reminder": reminder}, clock)
	defer lc.Close()
	stop := serving(lc)
	run, err := lc.Submit(ctx, lifecycle.Spec{Engine: "reminder", Input: []byte(`{}`)})
	must(err)
	until(lc, run.ID, lifecycle.TypeYielded)
	stop()

	clock.ahead.Add(int64(7 * 24 * time.Hour))
	defer serving(lc)()
	run, err = lc.Wait(ctx, run.ID)
	must(err)
	fmt.Println(run.FinalText)
	// Output: 7 days later
}

// RunAll starts runs of other agents and waits for their results. Each child has its own questions,
// limits and events; Spawn and Wait start and wait separately.
func ExampleRunAll() {
	translate := flow.New("translate", func(c *flow.Ctx, language string) (string, error) {
		return flow.Step(c, "translate", func(context.Context) (string, error) {
			return "the text in " + language, nil
		})
	})
	publish := flow.New("publish", func(c *flow.Ctx, languages []string) (string, error) {
		var children []engine.Child
		for _, language := range languages {
			input, err := json.Marshal(language)
			if err != nil {
				return "", err
			}
			children = append(children, engine.Child{Engine: "translate", InputJSON: input})
		}
		texts, err := flow.RunAll[string](c, "translations", children...)
		return strings.Join(texts, ", "), err
	})
	ctx := context.Background()
	lc := newHost(map[string]engine.Engine{"publish": publish, "translate": translate}, nil)
	defer lc.Close()
	defer serving(lc)()
	run, err := lc.Submit(ctx, lifecycle.Spec{Engine: "publish", Input: []byte(`["French", "Dutch"]`)})
	must(err)
	run, err = lc.Wait(ctx, run.ID)
	must(err)
	fmt.Println(run.FinalText)
	// Output: the text in French, the text in Dutch
}

// All executes branches at the same time, each with its own Ctx. Their questions are asked together.
func ExampleAll() {
	order := flow.New("order", func(c *flow.Ctx, in Order) (out Shipped, err error) {
		out.Parcels = make([]string, len(in.Items))
		var branches []func(*flow.Ctx) error
		for i, item := range in.Items {
			branches = append(branches, func(c *flow.Ctx) (err error) {
				out.Parcels[i], err = flow.Step(c, "pack", func(context.Context) (string, error) {
					return item + " packed", nil
				})
				return err
			})
		}
		err = flow.All(c, branches...)
		return out, err
	})
	run := runOrder(order, `{"items": ["tea", "cup"]}`)
	fmt.Printf("%s\n", run.Output)
	// Output: {"charge":"","parcels":["tea packed","cup packed"]}
}

// Defer registers a compensation. If the function fails, compensations are executed in reverse
// order, each as a step.
func ExampleCtx_Defer() {
	order := flow.New("order", func(c *flow.Ctx, _ struct{}) (string, error) {
		charge, err := flow.Step(c, "charge", func(context.Context) (string, error) { return "charge-1", nil })
		if err != nil {
			return "", err
		}
		c.Defer("refund", func(context.Context) error {
			_, err := fmt.Println("refunded", charge)
			return err
		})
		return flow.Step(c, "ship", func(context.Context) (string, error) { return "", errors.New("out of stock") })
	})
	run := runOrder(order, `{}`)
	fmt.Println(run.State, run.Error.Message)
	// Output:
	// refunded charge-1
	// failed step ship: out of stock
}
