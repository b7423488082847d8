package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// The inbox lists open questions, oldest first: of all runs, of runs with a label, or of one person.
// A process that executes nothing, such as a web front end, uses NewClient for these calls.
func ExampleClient_Inbox() {
	ctx := context.Background()
	lc, stop := start(lifecycle.Config{Engine: shipper})
	defer stop()
	for id, team := range map[string]string{"api-7": "core", "site-3": "web"} {
		_, err := lc.Submit(ctx, lifecycle.Spec{ID: id, Prompt: "Release.", Labels: map[string]string{"team": team},
			Ask: &lifecycle.AskPolicy{To: &lifecycle.Audience{Groups: []string{team}}}})
		must(err)
		until(lc, id, lifecycle.TypeInputRequired)
	}
	all, err := lc.Inbox(ctx, lifecycle.InboxQuery{})
	must(err)
	fmt.Println("open questions:", len(all.Questions))
	web, err := lc.Inbox(ctx, lifecycle.InboxQuery{Labels: map[string]string{"team": "web"}})
	must(err)
	for _, open := range web.Questions {
		fmt.Println(open.RunID, "asks:", open.Question.Prompt)
	}
	ada := lifecycle.Actor{ID: "ada", Groups: []string{"core"}}
	mine, err := lc.As(ada).Inbox(ctx, lifecycle.InboxQuery{For: ada, Limit: 20})
	must(err)
	for _, open := range mine.Questions {
		fmt.Println(open.RunID, "of team", open.Labels["team"], "asks ada:", open.Question.Prompt)
	}
	count, err := lc.As(ada).CountInbox(ctx, lifecycle.InboxQuery{For: ada})
	must(err)
	fmt.Println("for ada:", count.Questions)
	// Output:
	// open questions: 2
	// site-3 asks: Ship it?
	// api-7 of team core asks ada: Ship it?
	// for ada: 1
}

// The host decides who may answer the questions of a run: here the group finance, except the
// person who submitted the run. As is the client of one person, whom the host has authenticated.
func ExampleClient_As() {
	ctx := context.Background()
	lc, stop := start(lifecycle.Config{Engine: shipper})
	defer stop()
	_, err := lc.Submit(ctx, lifecycle.Spec{ID: "release-9", Prompt: "Release.", Submitter: "ada",
		Ask: &lifecycle.AskPolicy{NotSubmitter: true, To: &lifecycle.Audience{Groups: []string{"finance"}}}})
	must(err)
	until(lc, "release-9", lifecycle.TypeInputRequired)

	finance := []string{"finance"}
	for _, actor := range []lifecycle.Actor{
		{ID: "bob"}, {ID: "ada", Groups: finance}, {ID: "eve", Groups: finance, Via: "web"},
	} {
		_, err := lc.As(actor).Reply(ctx, "release-9", lifecycle.Reply{ID: 1, Text: "yes"})
		fmt.Printf("%s may answer: %t\n", actor.ID, !errors.Is(err, lifecycle.ErrNotAsked))
	}
	// Output:
	// bob may answer: false
	// ada may answer: false
	// eve may answer: true
}

// Authorize decides about every call of a person, for example by your roles. It gets the run and the
// question that the call is about. The zero Actor is the host itself.
func ExampleAuthorize() {
	ctx := context.Background()
	lc, stop := start(lifecycle.Config{Engine: shipper,
		Authorize: func(_ context.Context, a lifecycle.Access) error {
			if a.Action == lifecycle.ActionCancel && !slices.Contains(a.Actor.Groups, "ops") {
				return errors.New("only ops may cancel " + a.Run.ID)
			}
			return nil
		}})
	defer stop()
	_, err := lc.Submit(ctx, lifecycle.Spec{ID: "release-9", Prompt: "Release."})
	must(err)

	err = lc.As(lifecycle.Actor{ID: "bob"}).Cancel(ctx, "release-9", "")
	fmt.Println("bob is refused:", errors.Is(err, lifecycle.ErrNotAllowed))
	err = lc.As(lifecycle.Actor{ID: "ada", Groups: []string{"ops"}}).Cancel(ctx, "release-9", "")
	fmt.Println("ada:", err)
	// Output:
	// bob is refused: true
	// ada: <nil>
}

// Two people must approve the call of a tool before it is executed, each of them once.
func ExampleAskPolicy() {
	ctx := context.Background()
	lc, stop := start(lifecycle.Config{Engine: payer})
	defer stop()
	_, err := lc.Submit(ctx, lifecycle.Spec{ID: "invoice-8", Prompt: "Pay invoice 8.",
		Ask: &lifecycle.AskPolicy{Need: 2, To: &lifecycle.Audience{Groups: []string{"finance"}}}})
	must(err)
	until(lc, "invoice-8", lifecycle.TypeInputRequired)

	approve := func(who string) error {
		person := lc.As(lifecycle.Actor{ID: who, Groups: []string{"finance"}})
		_, err := person.Reply(ctx, "invoice-8", lifecycle.Reply{ID: 1, Decision: lifecycle.Approve})
		return err
	}
	must(approve("ada"))
	q, err := lc.Pending(ctx, "invoice-8")
	must(err)
	fmt.Printf("%d of %d have approved\n", q.Count(lifecycle.Approve), q.Need)
	fmt.Println("ada again, refused:", errors.Is(approve("ada"), lifecycle.ErrVoted))
	must(approve("eve"))

	run, err := lc.Wait(ctx, "invoice-8")
	must(err)
	fmt.Println(run.FinalText)
	// Output:
	// 1 of 2 have approved
	// ada again, refused: true
	// paid {"amount":420,"to":"ACME"}
}

// board asks three groups at once, and needs two answers.
var board = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) == 0 {
		var questions []engine.Question
		for _, group := range []string{"finance", "legal", "security"} {
			q := engine.ConfirmOf("Buy the company?")
			q.To = &engine.Audience{Groups: []string{group}}
			questions = append(questions, q)
		}
		o := engine.AskAll(questions...)
		o.Rule.Answers = 2
		return o, nil
	}
	for _, a := range t.Answers {
		if yes, ok := a.Yes(); a.Answered() && (!yes || !ok) {
			return engine.Done("not bought: " + a.Actor + " is against it"), nil
		}
	}
	return engine.Done("bought"), nil
})

// A turn asks several questions at once. Each has its own number, audience and reply; the run
// continues once, as soon as the rule of the turn is met.
func ExampleClient_History() {
	ctx := context.Background()
	lc, stop := start(lifecycle.Config{Engine: board})
	defer stop()
	_, err := lc.Submit(ctx, lifecycle.Spec{ID: "deal-1", Prompt: "Prepare the deal."})
	must(err)
	until(lc, "deal-1", lifecycle.TypeInputRequired)

	run, err := lc.Get(ctx, "deal-1")
	must(err)
	for _, q := range run.Open {
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
	for _, record := range history {
		fmt.Println("question", record.Question.ID, record.Resolution)
	}
	// Output:
	// question 1 for finance
	// question 2 for legal
	// question 3 for security
	// bought
	// question 1 user_reply
	// question 2 superseded
	// question 3 user_reply
}

// One person claims a question for a quarter of an hour, so that others do not answer it, and then
// reassigns it.
func ExampleClient_Claim() {
	ctx := context.Background()
	lc, stop := start(lifecycle.Config{Engine: shipper})
	defer stop()
	_, err := lc.Submit(ctx, lifecycle.Spec{ID: "release-10", Prompt: "Release.",
		Ask: &lifecycle.AskPolicy{To: &lifecycle.Audience{Users: []string{"ada", "bob"}}}})
	must(err)
	until(lc, "release-10", lifecycle.TypeInputRequired)

	ada, bob := lc.As(lifecycle.Actor{ID: "ada"}), lc.As(lifecycle.Actor{ID: "bob"})
	must(ada.Claim(ctx, "release-10", 1, lc.Now().Add(15*time.Minute)))
	_, err = bob.Reply(ctx, "release-10", lifecycle.Reply{ID: 1, Text: "yes"})
	var claimed *lifecycle.ClaimedError
	if errors.As(err, &claimed) {
		fmt.Println("bob must wait for", claimed.Claim.Actor)
	}

	q, err := lc.Pending(ctx, "release-10")
	must(err)
	must(ada.Reassign(ctx, "release-10", q.ID, q.To, lifecycle.Audience{Users: []string{"carl"}}))
	_, err = bob.Reply(ctx, "release-10", lifecycle.Reply{ID: 1, Text: "yes"})
	fmt.Println("bob is no longer asked:", errors.Is(err, lifecycle.ErrNotAsked))
	_, err = lc.As(lifecycle.Actor{ID: "carl"}).Reply(ctx, "release-10", lifecycle.Reply{ID: 1, Text: "yes"})
	fmt.Println("carl:", err)
	// Output:
	// bob must wait for ada
	// bob is no longer asked: true
	// carl: <nil>
}
