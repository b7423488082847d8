package examples_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// counter is a custom engine. It executes one turn at a time, up to a question or the end; the
// run's next state follows from the Outcome. Its memory is returned as its session handle. The
// suite engine/enginetest checks engines.
type counter struct{}

// Profile says that another process can resume a session.
func (counter) Profile(context.Context) (engine.Profile, error) {
	return engine.Profile{Kind: engine.Resumable, Reason: "the handle is all there is", Plain: true}, nil
}

// RunTurn asks for numbers until the sum is 10.
func (counter) RunTurn(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	sum := 0
	if t.Session != nil {
		if err := json.Unmarshal(t.Session.Data, &sum); err != nil {
			return engine.Outcome{}, err
		}
	}
	for _, answer := range t.Answers {
		n := 0
		_, _ = fmt.Sscan(answer.Text, &n) // a text without a number counts as 0
		sum += n
	}
	if sum >= 10 {
		return engine.Output(map[string]int{"sum": sum})
	}
	outcome := engine.Ask(engine.Question{Kind: engine.OpenText, Prompt: fmt.Sprintf("%d so far. And?", sum)})
	outcome.Session = &engine.SessionHandle{Engine: "counter", Data: []byte(fmt.Sprint(sum))}
	return outcome, nil
}

func Example_engine() {
	ctx := context.Background()
	lc, err := lifecycle.New(lifecycle.Config{Engine: counter{}, Forgiving: true})
	must(err)
	defer lc.Close()
	defer serve(lc)()
	run, err := lc.Submit(ctx, lifecycle.Spec{Prompt: "Count to 10."})
	must(err)
	for ev, err := range lc.Events(ctx, run.ID, 0) {
		must(err)
		if ev.Type == "user.input.required" {
			q, err := lc.Pending(ctx, run.ID)
			must(err)
			fmt.Println(q.Prompt, 4)
			_, err = lc.Reply(ctx, run.ID, lifecycle.Reply{ID: q.ID, Text: "4"})
			must(err)
		}
	}
	run, err = lc.Get(ctx, run.ID)
	fmt.Println(string(run.Output), err)
	// Output:
	// 0 so far. And? 4
	// 4 so far. And? 4
	// 8 so far. And? 4
	// {"sum":12} <nil>
}
