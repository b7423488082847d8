package examples_test

import (
	"context"
	"fmt"

	"github.com/interlude-go/interlude/lifecycle"
)

// The inbox has the open questions, oldest first, of one person or of all, by label where that is
// wanted: a page of a front end, which needs no engine of its own (lifecycle.NewClient).
func Example_inbox() {
	ctx := context.Background()
	lc, err := lifecycle.New(lifecycle.Config{Engine: shipper, Forgiving: true})
	must(err)
	defer lc.Close()
	defer serve(lc)()
	for id, team := range map[string]string{"api-7": "core", "site-3": "web"} {
		_, err := lc.Submit(ctx, lifecycle.Spec{ID: id, Prompt: "Release.", Labels: map[string]string{"team": team},
			Ask: &lifecycle.AskPolicy{To: &lifecycle.Audience{Groups: []string{team}}}})
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
	ada := lifecycle.Actor{ID: "ada", Groups: []string{"core"}}
	mine, err := lc.As(ada).Inbox(ctx, lifecycle.InboxQuery{For: ada, Limit: 20})
	must(err)
	for _, open := range mine.Questions {
		fmt.Println(open.RunID, "of team", open.Labels["team"], "asks ada:", open.Question.Prompt)
	}
	count, err := lc.As(ada).CountInbox(ctx, lifecycle.InboxQuery{For: ada})
	must(err)
	fmt.Println("for ada:", count.Questions)
	// Output:
	// open questions: 2
	// site-3 asks: Ship it?
	// api-7 of team core asks ada: Ship it?
	// for ada: 1
}
