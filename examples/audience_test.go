package examples_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/lifecycle"
)

// The host says who may answer the questions of a run: the group finance, but not who submitted it.
// Another hook of the host decides about everything else that an actor does.
func Example_audience() {
	ctx := context.Background()
	lc, err := lifecycle.New(lifecycle.Config{Engine: shipper, Forgiving: true,
		Authorize: func(_ context.Context, a lifecycle.Access) error {
			if a.Action == lifecycle.ActionCancel && a.Actor.ID != "ops" {
				return errors.New("only ops may cancel")
			}
			return nil
		}})
	must(err)
	defer lc.Close()
	defer serve(lc)()
	_, err = lc.Submit(ctx, lifecycle.Spec{ID: "release-9", Prompt: "Release.", Submitter: "ada",
		Ask: &lifecycle.AskPolicy{NotSubmitter: true, To: &lifecycle.Audience{Groups: []string{"finance"}}}})
	must(err)
	untilAsked(ctx, lc, "release-9")

	finance := []string{"finance"}
	for _, actor := range []lifecycle.Actor{
		{ID: "bob"}, {ID: "ada", Groups: finance}, {ID: "eve", Groups: finance, Via: "web"},
	} {
		_, err := lc.Reply(ctx, "release-9", lifecycle.Reply{ID: 1, Text: "yes", Actor: actor})
		fmt.Printf("%s may answer: %t\n", actor.ID, !errors.Is(err, lifecycle.ErrNotAsked))
	}
	_, err = lc.Wait(ctx, "release-9")
	must(err)
	err = lc.As(lifecycle.Actor{ID: "bob"}).Cancel(ctx, "release-9", "too late")
	fmt.Println("bob may cancel:", !errors.Is(err, lifecycle.ErrNotAllowed))
	// Output:
	// bob may answer: false
	// ada may answer: false
	// eve may answer: true
	// bob may cancel: false
}
