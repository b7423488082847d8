package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync/atomic"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// The helpers of all examples in this package. A host handles an error; here it ends the program.
func must(err error) {
	if err != nil {
		log.Panic(err)
	}
}

// shipper is an agent that asks before it ships.
var shipper = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) == 0 {
		return engine.Ask(engine.ConfirmOf("Ship it?")), nil
	}
	if yes, ok := t.Answers[0].Yes(); !yes || !ok {
		return engine.Done("not shipped"), nil
	}
	return engine.Done("shipped"), nil
})

// start returns a host that serves until stop is called. Its store is in memory.
func start(cfg lifecycle.Config) (lc *lifecycle.Lifecycle, stop func()) {
	cfg.Forgiving = true
	lc, err := lifecycle.New(cfg)
	must(err)
	leave := serve(lc)
	return lc, func() { leave(); lc.Close() }
}

// serve calls Serve until stop is called.
func serve(lc *lifecycle.Lifecycle) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	return func() {
		cancel()
		must(<-served)
	}
}

// until follows a run up to its first event of the type.
func until(lc *lifecycle.Lifecycle, id, eventType string) {
	for ev, err := range lc.Events(context.Background(), id, 0) {
		must(err)
		if ev.Type == eventType {
			return
		}
	}
}

// laterClock is a clock that the example sets forward.
type laterClock struct {
	lifecycle.SystemClock
	ahead atomic.Int64
}

func (c *laterClock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *laterClock) pass(d time.Duration) { c.ahead.Add(int64(d)) }

// Submit stores a run. With an id of your own it is safe to repeat: the same spec returns the run,
// and another spec under the same id is refused.
func ExampleClient_Submit() {
	ctx := context.Background()
	lc, err := lifecycle.New(lifecycle.Config{Engine: shipper, Forgiving: true})
	must(err)
	defer lc.Close()

	spec := lifecycle.Spec{ID: "release-2", Prompt: "Release version 2.", Title: "Release 2",
		Labels: map[string]string{"team": "core"}}
	run, err := lc.Submit(ctx, spec)
	must(err)
	fmt.Println(run.ID, run.State)

	again, err := lc.Submit(ctx, spec)
	fmt.Println("the same run:", again.ID == run.ID, err)
	spec.Prompt = "Release version 3."
	_, err = lc.Submit(ctx, spec)
	fmt.Println("refused:", errors.Is(err, lifecycle.ErrSpecConflict))
	// Output:
	// release-2 queued
	// the same run: true <nil>
	// refused: true
}

// Serve executes turns until its context ends. A run that waits for a person is not tied to the
// process: the next process that serves the same store continues it. With store/sqlite or
// store/postgres this holds after a crash too.
func ExampleLifecycle_Serve() {
	ctx := context.Background()
	lc, err := lifecycle.New(lifecycle.Config{Engine: shipper, Forgiving: true}) // set Store to keep the runs
	must(err)
	defer lc.Close()

	serving, shutdown := context.WithCancel(ctx) // a program uses signal.NotifyContext
	served := make(chan error)
	go func() { served <- lc.Serve(serving) }()
	_, err = lc.Submit(ctx, lifecycle.Spec{ID: "release-2", Prompt: "Release version 2."})
	must(err)
	until(lc, "release-2", lifecycle.TypeInputRequired)
	shutdown()
	fmt.Println("shut down:", <-served)

	_, err = lc.Reply(ctx, "release-2", lifecycle.Reply{ID: 1, Text: "yes"})
	must(err)
	run, err := lc.Get(ctx, "release-2")
	fmt.Println("answered while nothing serves:", run.State, err)

	serving, shutdown = context.WithCancel(ctx)
	go func() { served <- lc.Serve(serving) }()
	run, err = lc.Wait(ctx, "release-2")
	fmt.Println(run.State, run.FinalText, err)
	shutdown()
	<-served
	// Output:
	// shut down: <nil>
	// answered while nothing serves: queued <nil>
	// succeeded shipped <nil>
}

// Events replays a run and then follows it live. A reader that was interrupted passes the Seq of the
// last event that it has processed, and misses none.
func ExampleClient_Events() {
	ctx := context.Background()
	lc, stop := start(lifecycle.Config{Engine: shipper})
	defer stop()
	run, err := lc.Submit(ctx, lifecycle.Spec{Prompt: "Release version 2."})
	must(err)

	var cursor uint64
	for ev, err := range lc.Events(ctx, run.ID, cursor) {
		must(err)
		cursor = ev.Seq
		fmt.Println(ev.Seq, ev.Type)
		if ev.Type == lifecycle.TypeInputRequired {
			break // the reader goes away; the run waits
		}
	}
	_, err = lc.Reply(ctx, run.ID, lifecycle.Reply{ID: 1, Text: "yes"})
	must(err)
	for ev, err := range lc.Events(ctx, run.ID, cursor) { // ends with the run
		must(err)
		fmt.Println(ev.Seq, ev.Type)
	}
	// Output:
	// 1 conversation.started
	// 2 conversation.state.changed
	// 3 conversation.state.changed
	// 4 user.input.required
	// 5 interaction.reply.accepted
	// 6 conversation.state.changed
	// 7 conversation.state.changed
	// 8 assistant.message.final
	// 9 conversation.state.changed
}

// A run can be canceled in every state, from any process. If a cancel and a reply race, one of them
// succeeds, and the other gets an error that says so.
func ExampleClient_Cancel() {
	ctx := context.Background()
	lc, stop := start(lifecycle.Config{Engine: shipper})
	defer stop()
	run, err := lc.Submit(ctx, lifecycle.Spec{Prompt: "Release version 2."})
	must(err)
	until(lc, run.ID, lifecycle.TypeInputRequired)

	must(lc.Cancel(ctx, run.ID, "no longer needed"))
	run, err = lc.Get(ctx, run.ID)
	must(err)
	_, err = lc.Reply(ctx, run.ID, lifecycle.Reply{ID: 1, Text: "yes"})
	fmt.Println(run.State, "- the reply came too late:", errors.Is(err, lifecycle.ErrSettled))
	// Output: canceled - the reply came too late: true
}

// Stats counts the store's workload, over all nodes, for dashboards and alerts.
func ExampleClient_Stats() {
	ctx := context.Background()
	lc, err := lifecycle.New(lifecycle.Config{Engine: shipper, Forgiving: true})
	must(err)
	defer lc.Close()
	for _, prompt := range []string{"Release the API.", "Release the site."} {
		_, err := lc.Submit(ctx, lifecycle.Spec{Prompt: prompt})
		must(err)
	}
	stats, err := lc.Stats(ctx)
	must(err)
	fmt.Println("ready:", stats.Ready, "running:", stats.Running, "waiting:", stats.Waiting, "held:", stats.Held)
	fmt.Println("nodes:", stats.Nodes) // 0 while work is ready: alert
	// Output:
	// ready: 2 running: 0 waiting: 0 held: 0
	// nodes: 0
}
