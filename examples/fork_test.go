package examples_test

import (
	"context"
	"fmt"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// traveller asks two questions, and keeps the first answer as its state.
var traveller = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	switch {
	case len(t.Answers) == 0:
		return engine.Ask(engine.Question{Kind: engine.OpenText, Prompt: "Where to?"}), nil
	case t.State() == nil:
		ask := engine.Ask(engine.Question{Kind: engine.OpenText, Prompt: "By train or by plane?"})
		return ask.WithState([]byte(t.Input())), nil
	}
	return engine.Done(fmt.Sprintf("To %s, by %s.", t.State(), t.Input())), nil
})

// A run that has ended stays as it is. A fork goes on from one of its questions, with another
// answer: it knows the answers before that one, and asks anew what came after (J6).
func Example_fork() {
	ctx := context.Background()
	lc, err := lifecycle.New(lifecycle.Config{Engine: traveller, Forgiving: true})
	must(err)
	defer lc.Close()
	defer serve(lc)()
	_, err = lc.Submit(ctx, lifecycle.Spec{ID: "trip", Prompt: "Book a trip."})
	must(err)
	untilAsked(ctx, lc, "trip")
	_, err = lc.Reply(ctx, "trip", lifecycle.Reply{ID: 1, Text: "Lyon"})
	must(err)
	must(lc.Cancel(ctx, "trip", "we go somewhere else"))

	at := lifecycle.At{Question: 1, ID: "other-trip", Actor: lifecycle.Actor{ID: "ada"},
		Answer: lifecycle.Reply{Text: "Porto"}}
	fork, err := lc.Fork(ctx, "trip", at)
	must(err)
	untilAsked(ctx, lc, fork.ID)
	_, err = lc.Reply(ctx, fork.ID, lifecycle.Reply{ID: 1, Text: "train"})
	must(err)
	fork, err = lc.Wait(ctx, fork.ID)
	must(err)
	inherited, err := lc.Inherited(ctx, fork.ID)
	must(err)
	fmt.Println(inherited[0].Question.Prompt, inherited[0].Response)
	fmt.Println(fork.FinalText)
	fmt.Println("forked from", fork.ForkedFrom.RunID, "at question", fork.ForkedFrom.Question)
	// Output:
	// Where to? Porto
	// To Porto, by train.
	// forked from trip at question 1
}
