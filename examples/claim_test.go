package examples_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// One person works on a question for a quarter of an hour, and then puts it to another one.
func Example_claim() {
	ctx := context.Background()
	lc, err := lifecycle.New(lifecycle.Config{Engine: shipper, Forgiving: true})
	must(err)
	defer lc.Close()
	defer serve(lc)()
	_, err = lc.Submit(ctx, lifecycle.Spec{ID: "release-10", Prompt: "Release.",
		Ask: &lifecycle.AskPolicy{To: &lifecycle.Audience{Users: []string{"ada", "bob"}}}})
	must(err)
	untilAsked(ctx, lc, "release-10")

	ada, bob := lc.As(lifecycle.Actor{ID: "ada"}), lc.As(lifecycle.Actor{ID: "bob"})
	must(ada.Claim(ctx, "release-10", 1, time.Now().Add(15*time.Minute)))
	_, err = bob.Reply(ctx, "release-10", lifecycle.Reply{ID: 1, Text: "yes"})
	var claimed *lifecycle.ClaimedError
	if errors.As(err, &claimed) {
		fmt.Println("bob waits for", claimed.Claim.Actor)
	}

	q, err := lc.Pending(ctx, "release-10")
	must(err)
	must(ada.Reassign(ctx, "release-10", q.ID, q.To, lifecycle.Audience{Users: []string{"carl"}}))
	err = bob.Reassign(ctx, "release-10", q.ID, q.To, lifecycle.Audience{Users: []string{"dora"}})
	fmt.Println("bob is asked no more:", errors.Is(err, lifecycle.ErrNotAsked))
	_, err = lc.As(lifecycle.Actor{ID: "carl"}).Reply(ctx, "release-10", lifecycle.Reply{ID: 1, Text: "yes"})
	must(err)
	// Output:
	// bob waits for ada
	// bob is asked no more: true
}
