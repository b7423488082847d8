package rehearsal_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/lifecycle/rehearsal"
	"github.com/interlude-go/interlude/store/memory"
)

// sleeper sleeps for a month, asks, and returns the answer.
func sleeper(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	switch {
	case len(t.Answers) > 0:
		return engine.Done(t.Answers[0].Text), nil
	case t.State() == nil:
		return engine.SleepUntil(t.Clock.Now().Add(30 * 24 * time.Hour)).WithState([]byte("slept")), nil
	}
	return engine.Ask(engine.Question{Kind: engine.OpenText, Prompt: "What?"}), nil
}

func caseOf(agent engine.Func) rehearsal.Case {
	return rehearsal.Case{
		Config: lifecycle.Config{Engine: agent, Forgiving: true, OnInterrupt: lifecycle.Repeat},
		Spec:   lifecycle.Spec{Prompt: "x"},
		Reply:  func(q lifecycle.Question) lifecycle.Reply { return lifecycle.Reply{Text: q.Prompt + " This."} },
	}
}

// M5: a month passes in a play, and people answer.
func TestM5PlayLetsWeeksPass(t *testing.T) {
	run := rehearsal.Play(t, caseOf(sleeper))
	require.Equal(t, lifecycle.StateSucceeded, run.State)
	require.Equal(t, "What? This.", run.FinalText)
	require.Greater(t, run.FinishedAt.Sub(run.CreatedAt), 30*24*time.Hour)
}

// M5: the host crashes at each commit of a run, and the run comes to its end every time: a turn
// that was under way is executed again.
func TestM5EveryCrashComesToTheSameEnd(t *testing.T) {
	plays, turns := 0, 0
	rehearsal.EveryCrash(t, func(*testing.T) rehearsal.Case {
		plays++
		c := caseOf(func(ctx context.Context, in engine.Turn, s engine.Sink) (engine.Outcome, error) {
			turns++
			return sleeper(ctx, in, s)
		})
		c.Story = `
			0s     conversation.started
			720h   user.input.required
			720h1m interaction.reply.accepted
			720h1m assistant.message.final`
		c.Check = func(t *testing.T, run lifecycle.Run) {
			require.Equal(t, "What? This.", run.FinalText)
			took := run.FinishedAt.Sub(run.CreatedAt)
			require.Less(t, took, 30*24*time.Hour+10*time.Minute, "the next host goes on at once")
		}
		return c
	})
	require.Equal(t, 1+2*8, plays, "eight commits: submit, three claims, sleep, ask, reply, end")
	require.Greater(t, turns, 3*plays, "turns were executed again")
}

// M5: a seed decides where up to three hosts crash, and how long people take.
func TestM5SeedsComeToTheSameEnd(t *testing.T) {
	delays := make(map[time.Duration]bool)
	hosts := make(map[int]bool) // how many a play had
	rehearsal.Seeds(t, 1, 20, func(*testing.T) rehearsal.Case {
		c, below, opened := caseOf(sleeper), memory.New(), 0
		c.Open = func(context.Context) (lifecycle.Store, error) {
			opened++
			return kept{below}, nil
		}
		c.Reply = func(q lifecycle.Question) lifecycle.Reply {
			delays[time.Since(q.AskedAt).Truncate(time.Minute)] = true
			return lifecycle.Reply{Text: q.Prompt + " This."}
		}
		c.Check = func(*testing.T, lifecycle.Run) { hosts[opened] = true }
		return c
	})
	require.Greater(t, len(delays), 10, "people take their time")
	require.Equal(t, map[int]bool{1: true, 2: true, 3: true, 4: true}, hosts)
}

// kept is a store that outlives its hosts.
type kept struct{ *memory.Store }

func (kept) Close() error { return nil }

// M5: people look at a question a minute after it was asked, and each hour at an open one; nothing
// else takes time.
func TestM5PeopleLookAgain(t *testing.T) {
	var looks []time.Duration
	c := caseOf(sleeper)
	c.Reply = func(q lifecycle.Question) lifecycle.Reply {
		if looks = append(looks, time.Since(q.AskedAt)); len(looks) < 4 {
			return lifecycle.Reply{}
		}
		return lifecycle.Reply{Text: "At last."}
	}
	run := rehearsal.Play(t, c)
	require.Equal(t, "At last.", run.FinalText)
	for i, want := range []time.Duration{time.Minute, 61 * time.Minute, 121 * time.Minute, 181 * time.Minute} {
		require.InDelta(t, want.Seconds(), looks[i].Seconds(), 1)
	}
	require.InDelta(t, (30*24*time.Hour + 181*time.Minute).Seconds(), run.FinishedAt.Sub(run.CreatedAt).Seconds(), 60)
}

// payer asks whether it may pay, and pays the approved amount.
func payer(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	q, err := engine.ApprovalOf("Pay the invoice?", "pay", map[string]int{"amount": 420})
	switch {
	case err != nil:
		return engine.Outcome{}, err
	case len(t.Answers) == 0:
		return engine.Ask(q), nil
	}
	if _, err := t.Approved(q); err != nil {
		return engine.Done("not paid"), nil
	}
	return engine.Done("paid"), nil
}

// M5, K5: two people decide about a payment, one after the other, and the host crashes at each
// commit.
func TestM5TwoPeopleDecide(t *testing.T) {
	people := []string{"ada", strings.Repeat("b", 255)}
	for name, tc := range map[string]struct {
		first, second lifecycle.Decision
		end           string
	}{
		"both approve":       {lifecycle.Approve, lifecycle.Approve, "paid"},
		"the first rejects":  {lifecycle.Reject, lifecycle.Approve, "not paid"},
		"the second rejects": {lifecycle.Approve, lifecycle.Reject, "not paid"},
	} {
		t.Run(name, func(t *testing.T) {
			said := map[string]lifecycle.Decision{people[0]: tc.first, people[1]: tc.second}
			rehearsal.EveryCrash(t, func(*testing.T) rehearsal.Case {
				c := caseOf(payer)
				c.Spec.Submitter, c.Spec.Ask = "carl", &lifecycle.AskPolicy{Need: 2, NotSubmitter: true}
				c.Reply = func(q lifecycle.Question) lifecycle.Reply {
					person := people[len(q.Votes)]
					return lifecycle.Reply{Actor: lifecycle.Actor{ID: person}, Decision: said[person], Seen: q.Digest()}
				}
				c.Check = func(t *testing.T, run lifecycle.Run) { require.Equal(t, tc.end, run.FinalText) }
				return c
			})
		})
	}
}
