package examples_test

import (
	"context"
	"fmt"

	"github.com/interlude-go/interlude/lifecycle"
)

// The inbox has all open questions, oldest first, by label where that is wanted: a page of a front
// end, which needs no engine of its own (lifecycle.NewClient).
func Example_inbox() {
	ctx := context.Background()
	lc, err := lifecycle.New(lifecycle.Config{Engine: shipper, Forgiving: true})
	must(err)
	defer lc.Close()
	defer serve(lc)()
	for id, team := range map[string]string{"api-7": "core", "site-3": "web"} {
		_, err := lc.Submit(ctx, lifecycle.Spec{ID: id, Prompt: "Release.", Labels: map[string]string{"team": team}})
		must(err)
		untilAsked(ctx, lc, id)
	}
	all, err := lc.Inbox(ctx, lifecycle.InboxQuery{})
	must(err)
	fmt.Println("open questions:", len(all.Questions))
	web, err := lc.Inbox(ctx, lifecycle.InboxQuery{Labels: map[string]string{"team": "web"}})
	must(err)
	for _, open := range web.Questions {
		fmt.Println(open.RunID, "asks:", open.Question.Prompt)
	}
	// Output:
	// open questions: 2
	// site-3 asks: Ship it?
}
