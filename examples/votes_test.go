package examples_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/lifecycle"
)

// Two people approve the call of a tool before it is executed, each of them once.
func Example_votes() {
	ctx := context.Background()
	lc, err := lifecycle.New(lifecycle.Config{Engine: payer, Forgiving: true})
	must(err)
	defer lc.Close()
	defer serve(lc)()
	_, err = lc.Submit(ctx, lifecycle.Spec{ID: "invoice-8", Prompt: "Pay invoice 8.",
		Ask: &lifecycle.AskPolicy{Need: 2, To: &lifecycle.Audience{Groups: []string{"finance"}}}})
	must(err)
	untilAsked(ctx, lc, "invoice-8")

	approve := func(who string) error {
		person := lc.As(lifecycle.Actor{ID: who, Groups: []string{"finance"}})
		_, err := person.Reply(ctx, "invoice-8", lifecycle.Reply{ID: 1, Decision: lifecycle.Approve})
		return err
	}
	must(approve("ada"))
	q, err := lc.Pending(ctx, "invoice-8")
	must(err)
	fmt.Printf("%d of %d have approved\n", q.Count(lifecycle.Approve), q.Need)
	fmt.Println("ada again, refused:", errors.Is(approve("ada"), lifecycle.ErrVoted))
	must(approve("eve"))

	run, err := lc.Wait(ctx, "invoice-8")
	must(err)
	fmt.Println(run.FinalText)
	// Output:
	// 1 of 2 have approved
	// ada again, refused: true
	// paid {"amount":420,"to":"ACME"}
}
