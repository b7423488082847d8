package examples_test

import (
	"context"
	"fmt"

	"github.com/interlude-go/interlude/lifecycle"
)

// A feed has the events of all runs, for a program that tells people that they are asked. The store
// keeps its cursor: a later process goes on after what was acknowledged.
func Example_feed() {
	ctx := context.Background()
	lc, err := lifecycle.New(lifecycle.Config{Engine: shipper, Forgiving: true})
	must(err)
	defer lc.Close()
	defer serve(lc)()
	_, err = lc.CreateFeed(ctx, "mail", lifecycle.DefaultFeedLag) // only to have it before the runs
	must(err)
	for _, id := range []string{"api-7", "site-3"} {
		_, err := lc.Submit(ctx, lifecycle.Spec{ID: id, Prompt: "Release."})
		must(err)
		untilAsked(ctx, lc, id)
	}
	asked := lifecycle.FeedFilter{Types: []string{"user.input.required"}}
	for range 2 { // as two processes, one after the other
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

// What one person is asked, for a program that tells this person: those that escalate to the
// person, too, and those that others put to the person later.
func Example_feedForAPerson() {
	ctx := context.Background()
	lc, err := lifecycle.New(lifecycle.Config{Engine: shipper, Forgiving: true})
	must(err)
	defer lc.Close()
	defer serve(lc)()
	_, err = lc.CreateFeed(ctx, "ada", lifecycle.DefaultFeedLag)
	must(err)
	for id, group := range map[string]string{"api-7": "core", "site-3": "web"} {
		_, err := lc.Submit(ctx, lifecycle.Spec{ID: id, Prompt: "Release.",
			Ask: &lifecycle.AskPolicy{To: &lifecycle.Audience{Groups: []string{group}}}})
		must(err)
		untilAsked(ctx, lc, id)
	}
	ada := lifecycle.Actor{ID: "ada", Groups: []string{"core"}}
	for event, err := range lc.Feed(ctx, "ada", lifecycle.FeedFilter{For: ada}) {
		must(err)
		fmt.Println("tell ada of", event.Type, event.ID())
		must(event.Ack(ctx))
		break
	}
	// Output:
	// tell ada of user.input.required api-7/4
}
