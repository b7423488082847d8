package examples_test

import (
	"context"
	"fmt"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// Nobody answers: people are reminded, then somebody else is asked, and at the end a default answer
// counts. Each step is an event, once, whatever node carries it out.
func Example_wait() {
	ctx := context.Background()
	lc, err := lifecycle.New(lifecycle.Config{Engine: shipper, Forgiving: true})
	must(err)
	defer lc.Close()
	defer serve(lc)()
	run, err := lc.Submit(ctx, lifecycle.Spec{Prompt: "Release.", Ask: &lifecycle.AskPolicy{
		To: &lifecycle.Audience{Users: []string{"ada"}},
		Wait: &engine.Wait{
			Steps: []engine.Step{
				{Do: engine.Remind, After: second},
				{Do: engine.Escalate, After: 2 * second, To: &lifecycle.Audience{Groups: []string{"releases"}}},
			},
			End: 3 * second, Then: engine.ThenDefault, Default: &engine.DefaultReply{Text: "no"},
		},
	}})
	must(err)
	for ev, err := range lc.Events(ctx, run.ID, 0) {
		must(err)
		switch ev.Type {
		case "user.input.reminder", "user.input.escalated", "interaction.default.timeout":
			fmt.Println(ev.Type)
		}
	}
	run, err = lc.Get(ctx, run.ID)
	must(err)
	fmt.Println(run.State)
	// Output:
	// user.input.reminder
	// user.input.escalated
	// interaction.default.timeout
	// succeeded
}
