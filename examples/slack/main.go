// Slack asks for an approval in a channel, over Socket Mode. See docs/tutorials/slack.md.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/host/slack"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/sqlite"
)

func refund(c *flow.Ctx, order string) (string, error) {
	_, err := flow.Approve(c, "pay", engine.Question{Kind: engine.Approval, Prompt: "Refund order " + order + "?",
		Subject: &engine.Subject{Tool: "refund", Arguments: []byte(`{"cents":4200}`)}})
	return "Order " + order + " is paid back.", err // a rejected call fails the run
}

func main() { must(0, serve(context.Background(), os.Stdout)) }

func serve(ctx context.Context, out io.Writer) error {
	ctx, end := context.WithCancel(ctx)
	db := must(sql.Open("sqlite", "slack.db?_pragma=busy_timeout(10000)&_pragma=synchronous(FULL)"))
	lc := must(lifecycle.New(lifecycle.Config{Store: must(sqlite.Open(ctx, "runs.db", sqlite.Options{})),
		Engine: flow.New("refund", refund), Forgiving: true}))
	directory := func(_ context.Context, _, user string) (lifecycle.Actor, error) {
		return lifecycle.Actor{ID: user}, nil
	}
	app := must(slack.New(slack.Config{Client: lc.Client, Messages: must(slack.OpenSQLite(ctx, db)), Person: directory,
		Token: os.Getenv("SLACK_TOKEN"), AppToken: os.Getenv("SLACK_APP_TOKEN"), API: os.Getenv("SLACK_API"),
		Places: slack.Channel(os.Getenv("SLACK_CHANNEL"))}))
	notifier := must(notify.New(notify.Config{Client: lc.Client, Queue: must(notify.OpenSQLite(ctx, db)),
		Endpoints: []notify.Endpoint{app.Endpoint("slack")}}))
	must(lc.CreateFeed(ctx, notify.FeedName("slack"), lifecycle.DefaultFeedLag)) // must exist before the first question
	must(lc.Submit(ctx, lifecycle.Spec{ID: "refund-1", Input: []byte(`"A-1017"`)}))
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return lc.Serve(ctx) })
	parts.Go(func() error { return app.ServeSocket(ctx) })
	parts.Go(func() error { notifier.Serve(ctx); return nil })
	run, _ := lc.Wait(ctx, "refund-1") // if this fails, parts.Wait returns the cause
	fmt.Fprintln(out, run.State, run.FinalText)
	app.Close() // the message shows the decision before Close returns
	end()
	return parts.Wait()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
