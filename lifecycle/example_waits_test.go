package lifecycle_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// A deadline is stored with the question and fires once, on any node, also when it passed while no
// process ran. With AutoDecide the agent then decides; without it, the question stays open.
func ExampleSpec_deadline() {
	ctx := context.Background()
	careful := engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		if len(t.Answers) == 0 {
			return engine.Ask(engine.ConfirmOf("Ship it?")), nil
		}
		switch yes, ok := t.Answers[0].Yes(); {
		case !ok: // the deadline passed
			return engine.Done("no answer: not shipped"), nil
		case !yes:
			return engine.Done("not shipped"), nil
		}
		return engine.Done("shipped"), nil
	})
	clock := new(laterClock) // only tests set Config.Clock
	lc, err := lifecycle.New(lifecycle.Config{Engine: careful, Forgiving: true, Clock: clock})
	must(err)
	defer lc.Close()
	stop := serve(lc)
	run, err := lc.Submit(ctx, lifecycle.Spec{Prompt: "Release.", AutoDecide: true, SessionTimeout: 48 * time.Hour})
	must(err)
	until(lc, run.ID, lifecycle.TypeInputRequired)
	stop()

	clock.pass(72 * time.Hour) // the weekend
	defer serve(lc)()
	run, err = lc.Wait(ctx, run.ID)
	must(err)
	fmt.Println(run.State, "-", run.FinalText)
	// Output: succeeded - no answer: not shipped
}

// A question is escalated step by step: a reminder, then a larger audience, and finally a default
// answer. Each step is stored with the question and becomes an event once.
func ExampleAskPolicy_wait() {
	ctx := context.Background()
	clock := new(laterClock)
	lc, err := lifecycle.New(lifecycle.Config{Engine: shipper, Forgiving: true, Clock: clock})
	must(err)
	defer lc.Close()
	stop := serve(lc)
	const day = 24 * time.Hour
	run, err := lc.Submit(ctx, lifecycle.Spec{Prompt: "Release.", Ask: &lifecycle.AskPolicy{
		To: &lifecycle.Audience{Users: []string{"ada"}},
		Wait: &engine.Wait{
			Steps: []engine.WaitStep{
				{Do: engine.Remind, After: day},
				{Do: engine.Escalate, After: 2 * day, To: &lifecycle.Audience{Groups: []string{"releases"}}},
			},
			End: 3 * day, Then: engine.ThenDefault, Default: &engine.DefaultReply{Text: "no"},
		},
	}})
	must(err)
	until(lc, run.ID, lifecycle.TypeInputRequired)
	stop()

	clock.pass(4 * day) // nothing serves; overdue steps are taken in order
	defer serve(lc)()
	for ev, err := range lc.Events(ctx, run.ID, 0) {
		must(err)
		switch ev.Type {
		case lifecycle.TypeReminder, lifecycle.TypeEscalated, lifecycle.TypeDefaultTaken:
			fmt.Println(ev.Type)
		}
	}
	run, err = lc.Get(ctx, run.ID)
	must(err)
	fmt.Println(run.State, run.FinalText)
	// Output:
	// user.input.reminder
	// user.input.escalated
	// interaction.default.timeout
	// succeeded not shipped
}

// A run that cannot continue is held instead of failed, with its answer. An operator finds it,
// repairs the cause, and resumes it.
func ExampleClient_Resume() {
	ctx := context.Background()
	var repaired atomic.Bool
	fragile := engine.Func(func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
		if !repaired.Load() {
			return engine.Outcome{}, engine.Hold(engine.CodeEngineUnavailable, "the key of the model has expired")
		}
		return engine.Done("done"), nil
	})
	lc, stop := start(lifecycle.Config{Engine: fragile})
	defer stop()
	_, err := lc.Submit(ctx, lifecycle.Spec{ID: "report-5", Prompt: "Write the report."})
	must(err)
	until(lc, "report-5", lifecycle.TypeYielded)

	held, err := lc.Runs(ctx, lifecycle.Query{Held: true})
	must(err)
	for _, run := range held.Runs {
		fmt.Println(run.ID, "is held:", run.Block.Reason, run.Block.Choices)
	}
	repaired.Store(true)
	ops := lifecycle.Actor{ID: "ops"}
	must(lc.Resume(ctx, "report-5", lifecycle.Resume{Choice: lifecycle.ChoiceRepeat, Actor: ops}))
	run, err := lc.Wait(ctx, "report-5")
	must(err)
	fmt.Println(run.State, run.FinalText)
	// Output:
	// report-5 is held: the key of the model has expired [repeat end]
	// succeeded done
}

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

// A fork is a new run that continues from a question of another run with a different answer. It
// knows the answers before that question, and asks again what came after. The source never changes.
func ExampleClient_Fork() {
	ctx := context.Background()
	lc, stop := start(lifecycle.Config{Engine: traveller})
	defer stop()
	_, err := lc.Submit(ctx, lifecycle.Spec{ID: "trip", Prompt: "Book a trip."})
	must(err)
	until(lc, "trip", lifecycle.TypeInputRequired)
	_, err = lc.Reply(ctx, "trip", lifecycle.Reply{ID: 1, Text: "Lyon"})
	must(err)
	must(lc.Cancel(ctx, "trip", "we go somewhere else"))

	at := lifecycle.At{Question: 1, ID: "other-trip", Actor: lifecycle.Actor{ID: "ada"},
		Answer: lifecycle.Reply{Text: "Porto"}}
	fork, err := lc.Fork(ctx, "trip", at)
	must(err)
	until(lc, fork.ID, lifecycle.TypeInputRequired)
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
