package examples_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/lifecycle"
)

// A reply carries a key of the caller's, the id of a chat message, say. Whoever does not know
// whether it arrived sends it again: it settles once, and gets the first receipt, also when the run
// has ended.
func Example_idempotentReply() {
	ctx := context.Background()
	lc, err := lifecycle.New(lifecycle.Config{Engine: shipper, Forgiving: true})
	must(err)
	defer lc.Close()
	defer serve(lc)()
	run, err := lc.Submit(ctx, lifecycle.Spec{Prompt: "Release version 2."})
	must(err)
	untilAsked(ctx, lc, run.ID)

	reply := lifecycle.Reply{ID: 1, Text: "yes", Key: "msg-42", Actor: lifecycle.Actor{ID: "ada"}}
	first, err := lc.Reply(ctx, run.ID, reply)
	must(err)
	run, err = lc.Wait(ctx, run.ID)
	must(err)
	again, err := lc.Reply(ctx, run.ID, reply)
	fmt.Println("the same receipt:", again.AcceptedAt.Equal(first.AcceptedAt), err)
	reply.Text = "no"
	_, err = lc.Reply(ctx, run.ID, reply)
	fmt.Println("another text under that key is refused:", errors.Is(err, lifecycle.ErrKeyConflict))
	fmt.Println(run.FinalText)
	// Output:
	// the same receipt: true <nil>
	// another text under that key is refused: true
	// You said: yes
}
