package engine_test

import (
	"context"
	"fmt"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/interaction"
)

// A function is an engine: it asks in the first turn, and completes after the answer.
func ExampleFunc() {
	agent := engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		if len(t.Answers) == 0 {
			return engine.Ask(engine.ConfirmOf("Ship it?")), nil
		}
		if yes, ok := t.Answers[0].Yes(); !yes || !ok {
			return engine.Done("not shipped"), nil
		}
		return engine.Done("shipped"), nil
	})

	ctx, sink := context.Background(), &enginetest.Recorder{}
	asked, _ := agent.RunTurn(ctx, engine.Turn{RunID: "r1", Attempt: 1, Prompt: "Release v2."}, sink)
	fmt.Println(asked.Questions[0].Prompt)
	for _, text := range []string{"yes", "no"} {
		answer := []engine.Answer{{ID: 1, Resolution: interaction.UserReply, Text: text}}
		turn := engine.Turn{RunID: "r1", Attempt: 2, Answers: answer, Session: asked.Session}
		done, _ := agent.RunTurn(ctx, turn, sink)
		fmt.Println(done.FinalText, done.Done)
	}
	// Output:
	// Ship it?
	// shipped true
	// not shipped true
}

// A function keeps data between its turns as a state, stored with the run.
func ExampleOutcome_WithState() {
	agent := engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		switch {
		case len(t.Answers) == 0:
			return engine.Ask(engine.Question{Kind: engine.OpenText, Prompt: "Which colour?"}), nil
		case t.State() == nil:
			ask := engine.Ask(engine.Question{Kind: engine.OpenText, Prompt: "Which size?"})
			return ask.WithState([]byte(t.Input())), nil
		}
		return engine.Done(fmt.Sprintf("%s, size %s", t.State(), t.Input())), nil
	})

	ctx, sink := context.Background(), &enginetest.Recorder{}
	turn := engine.Turn{RunID: "r1", Attempt: 1}
	for _, answer := range []string{"green", "L"} {
		asked, _ := agent.RunTurn(ctx, turn, sink)
		fmt.Println(asked.Questions[0].Prompt)
		turn.Attempt, turn.Session = turn.Attempt+1, asked.Session // a host does this, over weeks
		turn.Answers = []engine.Answer{{ID: turn.Attempt - 1, Text: answer}}
	}
	done, _ := agent.RunTurn(ctx, turn, sink)
	fmt.Println(done.FinalText)
	// Output:
	// Which colour?
	// Which size?
	// green, size L
}
