package fsm

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A7: an event that the state does not allow is refused with an error that names both, and the
// rule.
func TestNextRefusalNamesStateEventAndRule(t *testing.T) {
	t.Parallel()
	cases := []struct {
		state State
		event Event
		code  Code
		rule  string
		text  string
	}{
		{StateSucceeded, EventRunCanceled, CodeRunTerminal, "RJ-01", "fsm: run.canceled refused in state succeeded " +
			"(RUN_TERMINAL by RJ-01)"},
		{StateQueued, EventTurnSucceeded, CodeEventNotAllowed, "RJ-02", "fsm: turn.succeeded refused in state queued " +
			"(EVENT_NOT_ALLOWED by RJ-02)"},
		{StateRunning, EventTurnNeedsInput, CodeGuardNotMet, "TR-02, TR-03", "fsm: turn.needs_input refused in state " +
			"running (GUARD_NOT_MET by TR-02, TR-03)"},
		{"limbo", EventRunCanceled, CodeEventNotAllowed, "", "fsm: run.canceled refused in state limbo " +
			"(EVENT_NOT_ALLOWED)"},
		{StateRunning, "turn.exploded", CodeEventNotAllowed, "", "fsm: turn.exploded refused in state running " +
			"(EVENT_NOT_ALLOWED)"},
	}
	for _, c := range cases {
		tr, err := Next(c.state, c.event, 0)
		require.Zero(t, tr)
		var refusal *Refusal
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, Refusal{State: c.state, Event: c.event, Code: c.code, Rule: c.rule}, *refusal)
		require.EqualError(t, err, c.text)
	}
}

// A caller's change of a result does not affect the tables.
func TestNextReturnsCopies(t *testing.T) {
	t.Parallel()
	spoil := func(tr Transition) {
		for i := range tr.Emits {
			tr.Emits[i].Type = "spoiled"
		}
		for i := range tr.Also {
			tr.Also[i] = "SPOILED"
		}
	}
	next := func() Transition {
		tr, err := Next(StateRunning, EventTurnFailed, 0)
		require.NoError(t, err)
		return tr
	}
	want := next()
	spoil(next())
	require.Equal(t, want, next())
	for _, tr := range Transitions() {
		spoil(tr)
	}
	require.Equal(t, want, next())

	soft := FactProcessOK | FactInteractive | FactSchemaDeclared | FactOutputValid
	rule := Decide(soft)
	require.Equal(t, []Warning{WarnInteractiveCompletedWithoutDoneMarker}, rule.Warnings)
	rule.Warnings[0] = "SPOILED"
	require.Equal(t, []Warning{WarnInteractiveCompletedWithoutDoneMarker}, Decide(soft).Warnings)

	Submit().Emits[0].Type = "spoiled"
	require.Equal(t, "conversation.started", Submit().Emits[0].Type)
	States()[0] = "spoiled"
	require.Equal(t, StateQueued, States()[0])
}

// One machine serves every run at once: no call gets another one's answer.
func TestNextIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	type question struct {
		state State
		event Event
		facts Facts
	}
	var questions []question
	for _, s := range States() {
		for _, e := range Events() {
			questions = append(questions, question{s, e, 0}, question{s, e, ^Facts(0)},
				question{s, e, FactSlotHeld | FactInteractive | FactHandlePresent | FactPendingMatches})
		}
	}
	answer := func(q question) string {
		tr, err := Next(q.state, q.event, q.facts)
		if err != nil {
			return err.Error()
		}
		return tr.ID
	}
	var want []string
	for _, q := range questions {
		want = append(want, answer(q))
	}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for round := range 20 {
				for i := range questions {
					i = (i*7 + worker*13 + round) % len(questions)
					if got := answer(questions[i]); got != want[i] {
						t.Errorf("%v: %s, alone %s", questions[i], got, want[i])
					}
				}
			}
		})
	}
	wg.Wait()
}

// Refusing an unknown state or event leaves nothing behind: the library would keep a record of each.
func TestNextForgetsUnknownStates(t *testing.T) {
	t.Parallel()
	_, err := Next("limbo", EventTurnStarted, ^Facts(0))
	require.Error(t, err)
	_, err = Next(StateQueued, "turn.exploded", ^Facts(0))
	require.Error(t, err)
	for _, m := range machines {
		require.Contains(t, m.ToGraph(), string(StateQueued))
		require.NotContains(t, m.ToGraph(), "limbo")
	}
}

func TestFactsHaveNames(t *testing.T) {
	t.Parallel()
	require.Empty(t, Facts(0).String())
	require.Equal(t, "slot_held|done_marker", (FactDoneMarker | FactSlotHeld).String())
	for i, name := range factNames {
		f, ok := FactNamed(name)
		require.True(t, ok)
		require.Equal(t, Facts(1<<i), f)
		require.Equal(t, name, f.String())
	}
	_, ok := FactNamed("moon_full")
	require.False(t, ok)
	require.True(t, (FactSticky | FactInteractive).Has(FactInteractive))
	require.False(t, FactSticky.Has(FactSticky|FactInteractive))
	require.True(t, FactSticky.lacks(FactInteractive))
}

func TestWaitKnowsEveryProfile(t *testing.T) {
	t.Parallel()
	for _, p := range Profiles() {
		_, ok := Wait(p, true)
		require.True(t, ok, p)
	}
	_, ok := Wait("telepathic", false)
	require.False(t, ok)
}

// G1: a code's user is known for every code, and a code that may end a run is no refusal.
func TestCodesHaveASource(t *testing.T) {
	t.Parallel()
	for _, c := range Codes() {
		require.Contains(t, []string{"engine", "gate", "run", "refusal"}, c.Source(), c)
	}
	require.Empty(t, Code("NONE").Source())
	for _, tr := range Transitions() {
		for _, c := range append(slices.Clone(tr.Also), tr.Error) {
			require.NotEqual(t, "refusal", c.Source(), tr.ID)
			require.True(t, tr.Allows(c))
		}
		require.False(t, tr.Allows(CodeRunTerminal), tr.ID)
	}
}

func BenchmarkNext(b *testing.B) {
	b.Run("taken", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			facts := FactPendingMatches | FactRuleMet
			if _, err := Next(StateWaitingUser, EventInteractionReplyAccepted, facts); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := Next(StateRunning, EventTurnNeedsInput, FactInteractive|FactHandlePresent); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
	b.Run("refused", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Next(StateSucceeded, EventRunCanceled, 0); err == nil {
				b.Fatal("not refused")
			}
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if Decide(FactProcessOK|FactInteractive|FactHandlePresent).Outcome != EventTurnNeedsInput {
			b.Fatal("wrong")
		}
	}
}
