package interaction_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
)

func groups(names ...string) *interaction.Audience { return &interaction.Audience{Groups: names} }

func after(d time.Duration, do interaction.StepAction, to *interaction.Audience) interaction.WaitStep {
	return interaction.WaitStep{Do: do, After: d, To: to}
}

// K7: a wait that cannot be executed as written is refused, with its fault.
func TestK7AWaitThatCannotBeCarriedOutIsRefused(t *testing.T) {
	full := func() *interaction.Wait {
		return &interaction.Wait{
			Then: interaction.ThenDefault, End: time.Hour, Default: &interaction.DefaultReply{Text: "no"},
			Steps: []interaction.WaitStep{after(time.Second, interaction.Remind, nil),
				after(time.Minute, interaction.Escalate, groups("finance"))},
		}
	}
	require.NoError(t, full().Validate())
	mixed := full()
	mixed.Steps[1].To.Users = []string{"ada"}
	require.NoError(t, mixed.Validate(), "people and groups")
	require.NoError(t, (*interaction.Wait)(nil).Validate())
	require.NoError(t, (&interaction.Wait{}).Validate())
	require.NoError(t, (&interaction.Wait{Then: interaction.ThenWait}).Validate(), "it waits, and nothing is overdue")
	for want, change := range map[string]func(w *interaction.Wait){
		"an End and no Then":              func(w *interaction.Wait) { w.Then = "" },
		"and no End":                      func(w *interaction.Wait) { w.End = 0 },
		"which is unknown":                func(w *interaction.Wait) { w.Then = "perhaps" },
		"whole seconds are allowed":       func(w *interaction.Wait) { w.End += time.Millisecond },
		"an End of -1s":                   func(w *interaction.Wait) { w.End = -time.Second },
		"which is not before its End":     func(w *interaction.Wait) { w.End = time.Minute },
		"later than the one before it":    func(w *interaction.Wait) { w.Steps[1].After = time.Second },
		"step 1 after 0s":                 func(w *interaction.Wait) { w.Steps[0].After = 0 },
		"step 1 after 1.5s":               func(w *interaction.Wait) { w.Steps[0].After = 1500 * time.Millisecond },
		"a reminder goes to the":          func(w *interaction.Wait) { w.Steps[0].To = groups("finance") },
		`action "shout"`:                  func(w *interaction.Wait) { w.Steps[0].Do = "shout" },
		"no audience to escalate to":      func(w *interaction.Wait) { w.Steps[1].To = &interaction.Audience{} },
		"step 2 with a name of 0 bytes":   func(w *interaction.Wait) { w.Steps[1].To = groups("") },
		"a Default, or none":              func(w *interaction.Wait) { w.Default = nil },
		"no answer":                       func(w *interaction.Wait) { w.Default = &interaction.DefaultReply{} },
		"only \"reject\" may be taken by": func(w *interaction.Wait) { w.Default.Decision = interaction.Approve },
		"17 steps": func(w *interaction.Wait) {
			w.Steps = slices.Repeat(w.Steps[:1], 17)
		},
	} {
		w := full()
		change(w)
		require.ErrorContains(t, w.Validate(), want)
	}
}

// K7: steps come in order, and a step before the end of the same time; a moved end acts later, and
// an end that only marks a question as overdue never does.
func TestK7StepsAndEndsComeInTheirOrder(t *testing.T) {
	asked := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	q := interaction.Question{ID: 1, AskedAt: asked, Wait: &interaction.Wait{
		Then: interaction.ThenFail, End: time.Hour, Steps: []interaction.WaitStep{
			after(time.Minute, interaction.Remind, nil), after(2*time.Minute, interaction.Escalate, groups("finance")),
		},
	}}
	q.StartWait()
	require.Equal(t, []any{asked.Add(time.Minute), true}, []any{q.NextDue(), q.StepDue()})
	second := q.Fire()
	require.Equal(t, []int8{0, 1}, []int8{q.Fired, second.Fired}, "the question before stays as it was")
	require.Equal(t, asked.Add(2*time.Minute), second.NextDue())
	moved := second
	moved.EndsAt = asked.Add(2 * time.Minute)
	require.True(t, moved.StepDue(), "the step comes first")
	last := second.Fire()
	require.Equal(t, "the groups finance", last.To.String())
	require.Nil(t, second.To)
	require.Equal(t, []any{asked.Add(time.Hour), false}, []any{last.NextDue(), last.StepDue()})
	overdue := last
	overdue.Wait = overdue.Wait.Clone()
	overdue.Wait.Then = interaction.ThenWait
	require.Zero(t, overdue.NextDue())
}

// K7 K5: an escalation replaces or extends the audience; excepted users stay excepted.
func TestK7AnEscalationAsksOthers(t *testing.T) {
	for _, c := range []struct {
		to   *interaction.Audience
		step interaction.WaitStep
		want string
	}{
		{nil, interaction.WaitStep{To: groups("b")}, "the groups b"},
		{nil, interaction.WaitStep{To: groups("b"), Join: true}, "everybody"},
		{groups("a"), interaction.WaitStep{To: groups("b")}, "the groups b"},
		{groups("a", "b"), interaction.WaitStep{To: groups("b"), Join: true}, "the groups b, a"},
		{&interaction.Audience{Everybody: true, Except: []string{"ada"}}, interaction.WaitStep{To: groups("b")},
			"the groups b, but not ada"},
		{&interaction.Audience{Everybody: true, Except: []string{"ada"}},
			interaction.WaitStep{To: groups("b"), Join: true}, "everybody, but not ada"},
	} {
		c.step.Do, c.step.After = interaction.Escalate, time.Second
		q := interaction.Question{To: c.to, Wait: &interaction.Wait{Steps: []interaction.WaitStep{c.step}}}
		require.Equal(t, c.want, q.Fire().To.String())
	}
}

// K7: a default answer fits its question, is never empty, and is not a person's.
func TestK7ADefaultAnswerFitsItsQuestion(t *testing.T) {
	form := interaction.Question{ID: 1, Kind: interaction.FillFields, Prompt: "Which?",
		Schema: json.RawMessage(`{"type":"object","required":["colour"]}`)}
	approval := interaction.Question{ID: 1, Kind: interaction.Approval, Prompt: "May I?",
		Subject: &interaction.Subject{Tool: "pay", Arguments: json.RawMessage(`{"amount":1}`)}}
	plain := interaction.Question{ID: 1, Kind: interaction.OpenText, Prompt: "Which?"}
	for _, c := range []struct {
		q       interaction.Question
		given   interaction.DefaultReply
		fits    bool
		message string
	}{
		{plain, interaction.DefaultReply{Text: "grey"}, true, "grey"},
		{plain, interaction.DefaultReply{Decision: interaction.Reject}, false, ""},
		{form, interaction.DefaultReply{Value: json.RawMessage(`{"colour":"grey"}`)}, true, `{"colour":"grey"}`},
		{form, interaction.DefaultReply{Value: json.RawMessage(`{}`)}, false, ""},
		{form, interaction.DefaultReply{Text: "grey"}, false, ""},
		{approval, interaction.DefaultReply{Decision: interaction.Reject}, true, "Rejected"},
		{approval, interaction.DefaultReply{Text: "yes"}, false, ""},
	} {
		c.q.Wait = &interaction.Wait{Then: interaction.ThenDefault, End: time.Second, Default: &c.given}
		require.NoError(t, c.q.Wait.Validate())
		require.Equal(t, c.fits, c.q.Wait.ValidateFor(c.q) == nil, c.q.Wait.ValidateFor(c.q))
		if !c.fits {
			continue
		}
		at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
		answer := c.q.TakeDefault(at)
		require.Equal(t, interaction.DefaultAnswer, answer.Resolution)
		require.Empty(t, answer.Arguments)
		require.Contains(t, answer.Message(), "Nobody replied in time")
		require.Contains(t, answer.Message(), c.message)
		require.Equal(t, answer, interaction.Settle(c.q, answer, "", "").Answer(), "as the history has it")
	}
	names := make([]string, 100)
	for i := range names {
		names[i] = fmt.Sprintf("group %d", i)
	}
	several := interaction.Question{ID: 1, To: groups(names...)}
	several.Wait = &interaction.Wait{Steps: []interaction.WaitStep{{
		Do: interaction.Escalate, After: time.Second, Join: true, To: groups("b"),
	}}}
	require.ErrorContains(t, several.Wait.ValidateFor(several), "a list of 101 names")
}
