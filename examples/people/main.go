// People asks three people at once and continues when two have answered. Run it with a file
// (default: people.db) to serve, and with the file and fay or bob to answer as one of them, while
// it serves or after it was killed.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/sqlite"
)

var answers = map[string]lifecycle.Reply{
	"fay": {ID: 1, Text: "yes", Actor: lifecycle.Actor{ID: "fay", Groups: []string{"finance"}}},
	"bob": {ID: 2, Value: json.RawMessage(`{"seats": 3}`), Actor: lifecycle.Actor{ID: "bob"}},
}

// agent asks finance, anyone (a form), and lee, who is reminded after an hour and joined by the
// board after a day.
func agent(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if a := t.Answers; len(a) > 0 {
		return engine.Done(fmt.Sprint(a[0].Actor, ": ", a[0].Text, "; ", a[1].Actor, ": ", string(a[1].Value))), nil
	}
	form := json.RawMessage(`{"type": "object", "required": ["seats"], "properties": {"seats": {"type": "integer"}}}`)
	wait := engine.Wait{Steps: []engine.WaitStep{{Do: engine.Remind, After: time.Hour},
		{Do: engine.Escalate, After: 24 * time.Hour, To: &engine.Audience{Groups: []string{"board"}}, Join: true}}}
	o := engine.AskAll(engine.Question{Prompt: "Is there money?", To: &engine.Audience{Groups: []string{"finance"}}},
		engine.Question{Prompt: "For how many?", Kind: engine.FillFields, Schema: form},
		engine.Question{Prompt: "Is it legal?", To: &engine.Audience{Users: []string{"lee"}}, Wait: &wait})
	o.Rule.Answers = 2
	return o, nil
}

func main() {
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	ctx := context.Background()
	st, err := sqlite.Open(ctx, append(os.Args, "people.db")[1], sqlite.Options{})
	check(err)
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: engine.Func(agent), Forgiving: true})
	check(err)
	if len(os.Args) == 3 { // a different process than the serving one
		_, err = lc.Reply(ctx, "trip", answers[os.Args[2]])
		check(err)
		return
	}
	go func() { check(lc.Serve(ctx)) }()
	_, err = lc.Submit(ctx, lifecycle.Spec{ID: "trip", Prompt: "Book a trip."}) // after a kill: the same run
	check(err)
	run, err := lc.Wait(ctx, "trip")
	check(err)
	fmt.Println(run.FinalText)
}
