package examples_test

import (
	"context"
	"fmt"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// Nobody answers in time, and the spec lets the agent decide: the deadline is stored with the
// question, and fires once, on whatever node there is then.
func Example_deadline() {
	ctx := context.Background()
	careful := engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		switch {
		case len(t.Answers) == 0:
			return engine.Ask(engine.Question{Kind: engine.Confirm, Prompt: "Ship it?"}), nil
		case t.Answers[0].Auto != nil: // the agent is told that nobody has answered
			return engine.Done("nobody answered: not shipped"), nil
		default:
			return engine.Done("shipped"), nil
		}
	})
	lc, err := lifecycle.New(lifecycle.Config{Engine: careful, Forgiving: true})
	must(err)
	defer lc.Close()
	defer serve(lc)()
	run, err := lc.Submit(ctx, lifecycle.Spec{Prompt: "Release.", AutoDecide: true, SessionTimeout: second})
	must(err)
	run, err = lc.Wait(ctx, run.ID)
	must(err)
	fmt.Println(run.State, "-", run.FinalText)
	// Output: succeeded - nobody answered: not shipped
}
