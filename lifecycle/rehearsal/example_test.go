package rehearsal_test

import (
	"context"
	"flag"
	"fmt"
	"log"
	"testing"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/lifecycle/rehearsal"
)

// cashier asks for an approval, and pays the approved amount.
var cashier = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	q, err := engine.ApprovalOf("Pay the invoice?", "pay", map[string]any{"amount": 420})
	if err != nil {
		return engine.Outcome{}, err
	}
	if len(t.Answers) == 0 {
		return engine.Ask(q), nil
	}
	arguments, err := t.Approved(q)
	if err != nil {
		return engine.Done("not paid"), nil
	}
	return engine.Done("paid " + string(arguments)), nil
})

// invoice is a run of the cashier. After a day there is a reminder; after three days the invoice is
// rejected.
func invoice() rehearsal.Case {
	const day = 24 * time.Hour
	return rehearsal.Case{
		Config: lifecycle.Config{Engine: cashier, Forgiving: true, OnInterrupt: lifecycle.Repeat},
		Spec: lifecycle.Spec{Prompt: "Pay invoice 7.", Ask: &lifecycle.AskPolicy{Wait: &engine.Wait{
			Steps: []engine.WaitStep{{Do: engine.Remind, After: day}},
			End:   3 * day, Then: engine.ThenDefault, Default: &engine.DefaultReply{Decision: lifecycle.Reject},
		}}},
	}
}

// A test plays three days without an answer. The story lists the expected events with their times.
func ExamplePlay() {
	runTest(func(t *testing.T) { // func TestNobodyApproves(t *testing.T)
		c := invoice()
		c.Story = `
			0s  user.input.required
			24h user.input.reminder
			72h interaction.default.timeout`
		run := rehearsal.Play(t, c)
		if run.FinalText != "not paid" {
			t.Error(run.FinalText)
		}
	})
	// Output: passed
}

// A test lets a person approve, and crashes the host before and after every commit: each play must
// reach the same end.
func ExampleEveryCrash() {
	runTest(func(t *testing.T) { // func TestApproved(t *testing.T)
		rehearsal.EveryCrash(t, func(*testing.T) rehearsal.Case {
			c := invoice() // with Open, the plays use a store with a file or a server
			c.Reply = func(q lifecycle.Question) lifecycle.Reply {
				return lifecycle.Reply{Decision: lifecycle.Approve, Seen: q.Digest()}
			}
			c.Check = func(t *testing.T, run lifecycle.Run) {
				if run.FinalText != `paid {"amount":420}` {
					t.Error(run.FinalText)
				}
			}
			return c
		})
	})
	// Output: passed
}

// runTest executes a test within an example and prints its result. A project writes ordinary tests.
func runTest(test func(t *testing.T)) {
	verbose := flag.Lookup("test.v").Value.String()
	set := func(value string) {
		if err := flag.Set("test.v", value); err != nil {
			log.Panic(err)
		}
	}
	set("false") // the output of the example is only the result
	defer set(verbose)
	every := func(string, string) (bool, error) { return true, nil }
	if testing.RunTests(every, []testing.InternalTest{{Name: "TestOfTheExample", F: test}}) {
		fmt.Println("passed")
	}
}
