package examples_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/lifecycle"
)

// A run can be canceled in every state, from any process. Of a cancel and a reply that race, one
// wins; the other is told that it came too late.
func Example_cancel() {
	ctx := context.Background()
	lc, err := lifecycle.New(lifecycle.Config{Engine: shipper, Forgiving: true})
	must(err)
	defer lc.Close()
	defer serve(lc)()
	run, err := lc.Submit(ctx, lifecycle.Spec{Prompt: "Release version 2."})
	must(err)
	untilAsked(ctx, lc, run.ID)

	must(lc.Cancel(ctx, run.ID, "no longer needed"))
	run, err = lc.Get(ctx, run.ID)
	must(err)
	_, err = lc.Reply(ctx, run.ID, lifecycle.Reply{ID: 1, Text: "yes"})
	fmt.Println(run.State, "- the reply came too late:", errors.Is(err, lifecycle.ErrSettled))
	// Output: canceled - the reply came too late: true
}
