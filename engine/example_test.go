package engine_test

import (
	"context"
	"fmt"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/interaction"
)

// A function is an engine: it asks in the first turn, and is done when it was answered.
func ExampleFunc() {
	agent := engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		if len(t.Answers) == 0 {
			return engine.Ask(interaction.Question{Kind: interaction.Confirm, Prompt: "Ship it?"}), nil
		}
		return engine.Done("You said: " + t.Input()), nil
	})

	ctx, sink := context.Background(), &enginetest.Recorder{}
	asked, _ := agent.RunTurn(ctx, engine.Turn{RunID: "r1", Attempt: 1, Prompt: "Release v2."}, sink)
	fmt.Println(asked.Questions[0].Prompt)
	answer := []interaction.Answer{{ID: 1, Text: "yes"}}
	done, _ := agent.RunTurn(ctx, engine.Turn{RunID: "r1", Attempt: 2, Answers: answer, Session: asked.Session}, sink)
	fmt.Println(done.FinalText, done.Done)
	// Output:
	// Ship it?
	// You said: yes true
}
