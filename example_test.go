package interlude_test

import (
	"context"
	"fmt"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// A run asks a person, parks, is answered, and finishes. This is the README's program.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	agent := engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		if len(t.Answers) == 0 {
			return engine.Ask(engine.ConfirmOf("Ship it?")), nil
		}
		if yes, ok := t.Answers[0].Yes(); !yes || !ok {
			return engine.Done("not shipped"), nil
		}
		return engine.Done("shipped"), nil
	})
	// With a Store, for instance a SQLite file, runs survive the process.
	lc, err := lifecycle.New(lifecycle.Config{Engine: agent, Forgiving: true})
	if err != nil {
		panic(err)
	}
	served := make(chan error)
	go func() { served <- lc.Serve(ctx) }()

	run, err := lc.Submit(ctx, lifecycle.Spec{Prompt: "Release version 2."})
	if err != nil {
		panic(err)
	}
	for ev, err := range lc.Events(ctx, run.ID, 0) { // a front end, here or elsewhere, now or later
		if err != nil {
			panic(err)
		}
		if ev.Type == "user.input.required" {
			ada := lifecycle.Actor{ID: "ada"}
			_, err = lc.Reply(ctx, run.ID, lifecycle.Reply{ID: 1, Text: "yes", Key: "msg-42", Actor: ada})
			if err != nil {
				panic(err)
			}
		}
	}
	run, err = lc.Get(ctx, run.ID)
	fmt.Println(run.State == lifecycle.StateSucceeded, run.FinalText, err)
	stop()
	fmt.Println(<-served)
	// Output:
	// true shipped <nil>
	// <nil>
}
