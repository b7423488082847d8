package lifecycle_test

import (
	"context"
	"fmt"

	"github.com/interlude-go/interlude/lifecycle"
)

// A feed has the events of all runs in one order, for example to send notices. The store keeps its
// cursor: after a restart, the reader continues behind the last acknowledged event.
func ExampleClient_Feed() {
	ctx := context.Background()
	lc, stop := start(lifecycle.Config{Engine: shipper})
	defer stop()
	_, err := lc.CreateFeed(ctx, "mail", lifecycle.DefaultFeedLag) // a new feed begins at its creation
	must(err)
	for _, id := range []string{"api-7", "site-3"} {
		_, err := lc.Submit(ctx, lifecycle.Spec{ID: id, Prompt: "Release."})
		must(err)
		until(lc, id, lifecycle.TypeInputRequired)
	}
	asked := lifecycle.FeedFilter{Types: []string{lifecycle.TypeInputRequired}}
	for range 2 { // like two processes, one after the other
		for event, err := range lc.Feed(ctx, "mail", asked) {
			must(err)
			fmt.Println("mail about", event.ID())
			must(event.Ack(ctx))
			break
		}
	}
	// Output:
	// mail about api-7/4
	// mail about site-3/4
}

// FeedFilter.For selects the questions that one person may answer, including questions that are
// escalated or reassigned to this person later.
func ExampleFeedFilter() {
	ctx := context.Background()
	lc, stop := start(lifecycle.Config{Engine: shipper})
	defer stop()
	_, err := lc.CreateFeed(ctx, "ada", lifecycle.DefaultFeedLag)
	must(err)
	for id, group := range map[string]string{"api-7": "core", "site-3": "web"} {
		_, err := lc.Submit(ctx, lifecycle.Spec{ID: id, Prompt: "Release.",
			Ask: &lifecycle.AskPolicy{To: &lifecycle.Audience{Groups: []string{group}}}})
		must(err)
		until(lc, id, lifecycle.TypeInputRequired)
	}
	ada := lifecycle.Actor{ID: "ada", Groups: []string{"core"}}
	for event, err := range lc.Feed(ctx, "ada", lifecycle.FeedFilter{For: ada}) {
		must(err)
		fmt.Println("notify ada:", event.Type, event.ID())
		must(event.Ack(ctx))
		break
	}
	// Output: notify ada: user.input.required api-7/4
}
