package examples_test

import (
	"context"
	"fmt"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/sqlite"
)

// One process parks a run and another continues it. Here these are two functions that share only
// the file.
func Example_parkAndResume() {
	name, remove := file()
	defer remove()
	monday(name)
	thursday(name)
	// Output:
	// monday: waiting_user, asks "Ship it?"
	// thursday: succeeded, shipped
}

// monday is the first process. It leaves when the run waits.
func monday(name string) {
	ctx := context.Background()
	st, err := sqlite.Open(ctx, name, sqlite.Options{})
	must(err)
	defer st.Close()
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: shipper, Forgiving: true})
	must(err)
	defer lc.Close()
	stop := serve(lc)
	_, err = lc.Submit(ctx, lifecycle.Spec{ID: "release-2", Prompt: "Release version 2."})
	must(err)
	untilAsked(ctx, lc, "release-2")
	stop()
	run, err := lc.Get(ctx, "release-2")
	must(err)
	fmt.Printf("monday: %s, asks %q\n", run.State, run.Open[0].Prompt)
}

// thursday is a different process, after a deploy, on the same file.
func thursday(name string) {
	ctx := context.Background()
	st, err := sqlite.Open(ctx, name, sqlite.Options{})
	must(err)
	defer st.Close()
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: shipper, Forgiving: true})
	must(err)
	defer lc.Close()
	defer serve(lc)()
	_, err = lc.Reply(ctx, "release-2", lifecycle.Reply{ID: 1, Text: "yes", Actor: lifecycle.Actor{ID: "ada"}})
	must(err)
	run, err := lc.Wait(ctx, "release-2")
	must(err)
	fmt.Printf("thursday: %s, %s\n", run.State, run.FinalText)
}
