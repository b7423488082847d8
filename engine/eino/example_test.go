package eino_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/cloudwego/eino/compose"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine/eino"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// An Eino graph is an engine: its interrupt parks the run, and the resumed node receives the
// answer.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	graph := compose.NewChain[string, string]()
	graph.AppendLambda(compose.InvokableLambda(func(ctx context.Context, _ string) (string, error) {
		if resumed, _, answer := compose.GetResumeContext[string](ctx); resumed {
			if yes, _ := (interaction.Answer{Resolution: interaction.UserReply, Text: answer}).Yes(); !yes {
				return "not shipped", nil
			}
			return "shipped", nil
		}
		return "", compose.Interrupt(ctx, interaction.Question{Kind: interaction.Confirm, Prompt: "Ship it?"})
	}))
	agent, err := eino.Compile(ctx, graph, eino.GraphConfig[string, string]{}) // the one line
	if err != nil {
		log.Fatal(err)
	}

	dir, err := os.MkdirTemp("", "eino")
	if err != nil {
		log.Fatal(err)
	}
	lc, err := lifecycle.New(lifecycle.Config{Engine: agent, Dir: dir, Forgiving: true})
	if err != nil {
		log.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()

	run, err := lc.Submit(ctx, lifecycle.Spec{Prompt: "Release version 2."})
	if err != nil {
		log.Fatal(err)
	}
	for ev, err := range lc.Events(ctx, run.ID, 0) {
		if err != nil {
			log.Fatal(err)
		}
		if ev.Type == fcmp.TypeInputRequired {
			q, err := lc.Pending(ctx, run.ID)
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(q.Prompt)
			if _, err := lc.Reply(ctx, run.ID, interaction.Reply{ID: q.ID, Text: "yes"}); err != nil {
				log.Fatal(err)
			}
		}
	}
	run, err = lc.Get(ctx, run.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.State, run.FinalText)
	stop()
	if err := <-served; err != nil {
		log.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Ship it?
	// succeeded shipped
}
