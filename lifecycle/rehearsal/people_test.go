package rehearsal_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/lifecycle/rehearsal"
)

// M5: people act by name, whatever crashes: people outside the audience do nothing, a claim
// excludes others, several decide one approval, edits and rejections reach the agent.
func TestM5PeopleActByName(t *testing.T) {
	ada := lifecycle.Actor{ID: "ada", Groups: []string{"finance"}}
	bob := lifecycle.Actor{ID: "bob", Groups: []string{"finance"}}
	carl := lifecycle.Actor{ID: "carl"}
	finance := &lifecycle.Audience{Groups: []string{"finance"}}
	for name, tc := range map[string]struct {
		ask    lifecycle.AskPolicy
		people []rehearsal.Person
		story  string
		end    string
	}{
		"only those who are asked": {
			lifecycle.AskPolicy{To: finance},
			[]rehearsal.Person{{Actor: carl, Reply: rehearsal.Approves},
				{Actor: ada, Reply: rehearsal.After(2*time.Hour, rehearsal.Rejects("too much"))}},
			"0s user.input.required\n2h1m interaction.reply.accepted", "not paid: too much",
		},
		"two approve": {
			lifecycle.AskPolicy{To: finance, Need: 2},
			[]rehearsal.Person{{Actor: ada, Reply: rehearsal.Approves}, {Actor: carl, Reply: rehearsal.Approves},
				{Actor: bob, Reply: rehearsal.After(time.Hour, rehearsal.Approves)}},
			"60s interaction.recorded\n1h1m interaction.reply.accepted", `paid {"amount":420}`,
		},
		"one of two rejects": {
			lifecycle.AskPolicy{To: finance, Need: 2},
			[]rehearsal.Person{{Actor: ada, Reply: rehearsal.Approves}, {Actor: bob, Reply: rehearsal.Rejects("no")}},
			"", "not paid: no",
		},
		"a claim": {
			lifecycle.AskPolicy{To: finance},
			[]rehearsal.Person{{Actor: ada, Claim: 3 * time.Hour, Reply: rehearsal.Edits(map[string]int{"amount": 7})},
				{Actor: bob, Reply: rehearsal.Approves}},
			"60s interaction.changed", `paid {"amount":7}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			rehearsal.EveryCrash(t, func(*testing.T) rehearsal.Case {
				c := caseOf(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
					q, err := engine.ApprovalOf("Pay the invoice?", "pay", map[string]int{"amount": 420})
					if err != nil || len(t.Answers) == 0 {
						return engine.Ask(q), err
					}
					arguments, err := t.Approved(q)
					if err != nil {
						return engine.Done("not paid: " + t.Answers[0].Text), nil
					}
					return engine.Done(fmt.Sprintf("paid %s", arguments)), nil
				})
				c.Reply, c.Spec.Ask, c.People, c.Story = nil, &tc.ask, tc.people, tc.story
				c.Check = func(t *testing.T, run lifecycle.Run) { require.Equal(t, tc.end, run.FinalText) }
				return c
			})
		})
	}
}

// M5: a person without a text for a question leaves it open, and a host's own rule that refuses a reply
// fails the play.
func TestM5PeopleAnswerWithATextOrNot(t *testing.T) {
	c := caseOf(sleeper)
	c.Reply = nil
	c.People = []rehearsal.Person{{Actor: lifecycle.Actor{ID: "ada"}, Reply: rehearsal.Approves},
		{Actor: lifecycle.Actor{ID: "bob"}, Reply: rehearsal.Says("What? This.")}}
	require.Equal(t, "What? This.", rehearsal.Play(t, c).FinalText)
}
