package adk_test

import (
	"context"
	"fmt"
	"iter"
	"log"
	"os"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine/adk"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// asker is a node that asks a person.
type asker struct{ workflow.BaseNode }

// Run asks.
func (asker) Run(ctx agent.Context, _ any) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		q := interaction.Question{Kind: interaction.Confirm, Prompt: "Ship it?"}
		yield(workflow.NewRequestInputEvent(ctx, session.RequestInput{Payload: q}), nil)
	}
}

// An ADK agent or workflow is an engine: its request for input parks the run, and the next node
// receives the answer.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	newAgent := func(context.Context) (agent.Agent, error) {
		ship := workflow.NewFunctionNode("ship", func(_ agent.Context, answer string) (string, error) {
			if yes, _ := (interaction.Answer{Resolution: interaction.UserReply, Text: answer}).Yes(); !yes {
				return "not shipped", nil
			}
			return "shipped", nil
		}, workflow.NodeConfig{})
		ask := asker{workflow.NewBaseNode("ask", "asks a person", workflow.NodeConfig{})}
		return workflowagent.New(workflowagent.Config{Name: "release", Edges: workflow.Chain(workflow.Start, ask,
			ship)})
	}
	agent, err := adk.New(newAgent, adk.Config{Ends: adk.EndsRun}) // the one line
	if err != nil {
		log.Fatal(err)
	}

	dir, err := os.MkdirTemp("", "adk")
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
