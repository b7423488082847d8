package main

import (
	"context"
	"errors"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// agent retries once, asks, and is done. Replace it with yours.
func agent(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if t.Attempt == 1 {
		return engine.Outcome{}, engine.Later(0, "the model is overloaded")
	}
	outcome := engine.Ask(engine.ConfirmOf(t.Prompt))
	if len(t.Answers) > 0 {
		outcome = engine.Done("not shipped")
		if yes, ok := t.Answers[0].Yes(); yes && ok {
			outcome = engine.Done("shipped")
		}
	}
	outcome.Usage = engine.Usage{InputTokens: 900, OutputTokens: 70}
	return outcome, nil
}

// work plays your users: at each pace it submits a run, and answers the oldest question if a second
// one is open.
func work(ctx context.Context, client *lifecycle.Client, pace time.Duration) error {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for ctx.Err() == nil {
		_, err := client.Submit(ctx, lifecycle.Spec{Prompt: "Ship it?"})
		open, failed := client.Inbox(ctx, lifecycle.InboxQuery{Limit: 2})
		if err = errors.Join(err, failed); err == nil && len(open.Questions) > 1 {
			oldest := open.Questions[0]
			_, err = client.Reply(ctx, oldest.RunID, lifecycle.Reply{ID: oldest.Question.ID, Text: "yes"})
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return nil
}
