// Hello is the README's program: an agent asks, a person answers later, and the run continues.
//
//	go run ./examples/hello
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/sqlite"
)

func main() {
	if err := host(context.Background()); err != nil {
		log.Fatal(err)
	}
}

var agent = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) == 0 {
		return engine.Ask(engine.ConfirmOf("Ship it?")), nil
	}
	if yes, ok := t.Answers[0].Yes(); !yes || !ok {
		return engine.Done("not shipped"), nil
	}
	return engine.Done("shipped"), nil
})

func host(ctx context.Context) error {
	st, err := sqlite.Open(ctx, "runs.db", sqlite.Options{}) // or no store: memory; or postgres, for many machines
	if err != nil {
		return err
	}
	defer st.Close()
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: agent, Forgiving: true})
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- lc.Serve(serving) }() // claims, executes, fires deadlines, recovers

	run, err := lc.Submit(ctx, lifecycle.Spec{Prompt: "Release version 2."})
	if err != nil {
		return err
	}
	for ev, err := range lc.Events(ctx, run.ID, 0) { // replays, then follows live, from any cursor
		if err != nil {
			return err
		}
		fmt.Println(ev.Seq, ev.Type)
		if ev.Type == lifecycle.TypeInputRequired { // the reply may come in three weeks, and from another process
			ada := lifecycle.Actor{ID: "ada"}
			_, err = lc.Reply(ctx, run.ID, lifecycle.Reply{ID: 1, Text: "yes", Key: "msg-42", Actor: ada})
			if err != nil {
				return err
			}
		}
	}
	run, err = lc.Get(ctx, run.ID)
	fmt.Printf("%s: %s\n", run.State, run.FinalText)
	stop()
	if ended := <-served; err == nil {
		err = ended
	}
	return err
}
