package examples_test

import (
	"context"
	"fmt"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// board asks three people at once, and goes on when two of them have answered.
var board = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) == 0 {
		var questions []engine.Question
		for _, group := range []string{"finance", "legal", "security"} {
			questions = append(questions, engine.Question{Kind: engine.Confirm, Prompt: "Buy the company?",
				To: &engine.Audience{Groups: []string{group}}})
		}
		o := engine.AskAll(questions...)
		o.Rule.Answers = 2
		return o, nil
	}
	verdict := ""
	for _, a := range t.Answers {
		if a.Answered() {
			verdict += a.Actor + ": " + a.Text + "; "
		}
	}
	return engine.Done(verdict), nil
})

// A turn asks several questions at once. Each has its own number, people and reply; the run goes on
// once, when as many are answered as its rule asks for.
func Example_several() {
	ctx := context.Background()
	lc, err := lifecycle.New(lifecycle.Config{Engine: board, Forgiving: true})
	must(err)
	defer lc.Close()
	defer serve(lc)()
	_, err = lc.Submit(ctx, lifecycle.Spec{ID: "deal-1", Prompt: "Prepare the deal."})
	must(err)
	untilAsked(ctx, lc, "deal-1")

	run, err := lc.Get(ctx, "deal-1")
	must(err)
	for _, q := range run.OpenQuestions() {
		fmt.Println("question", q.ID, "for", q.To.Groups[0])
	}
	for i, actor := range []lifecycle.Actor{
		{ID: "sam", Groups: []string{"security"}}, {ID: "fay", Groups: []string{"finance"}},
	} {
		_, err = lc.Reply(ctx, "deal-1", lifecycle.Reply{ID: 3 - 2*i, Text: "yes", Actor: actor})
		must(err)
	}
	run, err = lc.Wait(ctx, "deal-1")
	must(err)
	fmt.Println(run.FinalText)
	history, err := lc.History(ctx, "deal-1")
	must(err)
	fmt.Println("the question to legal:", history[1].Resolution)
	// Output:
	// question 1 for finance
	// question 2 for legal
	// question 3 for security
	// fay: yes; sam: yes;
	// the question to legal: superseded
}
