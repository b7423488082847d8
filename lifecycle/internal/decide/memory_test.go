package decide

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// remembering is a run that waits for the approval 20 of a payment and remembers a decision for each tool,
// numbered from 10, until an hour after noon.
func remembering(tools ...string) store.Run {
	run := parked()
	run.Interactions = 20
	run.Open[0].ID, run.Open[0].Kind, run.Open[0].Subject = 20, interaction.Approval, &interaction.Subject{Tool: "pay"}
	for i, tool := range tools {
		run.Remembered = append(run.Remembered, interaction.Memory{ID: 10 + i, Tool: tool, Actor: "ada", At: noon,
			Until: noon.Add(time.Hour)})
	}
	return run
}

// remembered are the numbers of the decisions that the run remembers.
func remembered(run *store.Run) (ids []int) {
	for i := range run.Remembered {
		ids = append(ids, run.Remembered[i].ID)
	}
	return ids
}

// N9: a reply adds a decision in the order of the questions and drops ended ones. The rejection of a tool
// by the host's policy drops the decisions about it, and no others.
func TestN9WhatARunRemembers(t *testing.T) {
	later := noon.Add(30 * time.Minute)
	reply := interaction.Reply{ID: 20, Decision: interaction.Approve, Actor: interaction.Actor{ID: "ada"},
		Remember: &interaction.Remember{Any: true, Until: later.Add(time.Minute)}}
	run := remembering("mail", "pay", "read")
	run.Remembered[1].Until = later
	run.Remembered[2].ID = 21
	cm, err := Reply(&run, reply, later)
	require.NoError(t, err)
	require.Equal(t, []int{10, 20, 21}, remembered(&cm.Run))

	rejects := interaction.Ruling{Rule: "no", Decision: interaction.Reject}
	run.Open[0].HiddenFor = 3600
	cm, err = Ruling(&run, 20, rejects, later)
	require.NoError(t, err)
	require.Equal(t, []int{10, 21}, remembered(&cm.Run))
	run = remembering("pay")
	run.Open[0].HiddenFor = 5
	cm, err = Ruling(&run, 20, rejects, noon)
	require.NoError(t, err)
	require.Nil(t, cm.Run.Remembered)
}

// N9: only decisions that have not ended count for the number that a run may remember.
func TestN9HowManyDecisionsARunRemembers(t *testing.T) {
	reply := interaction.Reply{ID: 20, Decision: interaction.Approve, Actor: interaction.Actor{ID: "ada"},
		Remember: &interaction.Remember{Any: true, Until: noon.Add(time.Minute)}}
	run := remembering(slices.Repeat([]string{"mail"}, interaction.MaxMemories)...)
	_, err := Reply(&run, reply, noon)
	var fault *interaction.FieldError
	require.ErrorAs(t, err, &fault)
	require.Equal(t, "none, since the run remembers 16 decisions", fault.Want)
	run.Remembered[3].Until = noon
	cm, err := Reply(&run, reply, noon)
	require.NoError(t, err)
	require.Len(t, cm.Run.Remembered, interaction.MaxMemories)
}

// N9: Forget removes one decision.
func TestN9ForgetLeavesTheOthers(t *testing.T) {
	run := remembering("mail", "pay")
	cm, err := Forget(&run, 10, interaction.Actor{ID: "ada"}, noon)
	require.NoError(t, err)
	require.Equal(t, []int{11}, remembered(&cm.Run))
	cm, err = Forget(&cm.Run, 11, interaction.Actor{ID: "ada"}, noon)
	require.NoError(t, err)
	require.Nil(t, cm.Run.Remembered)
	_, err = Forget(&cm.Run, 11, interaction.Actor{ID: "ada"}, noon)
	require.ErrorIs(t, err, ErrNotRemembered)
}

// N9: a hidden question is approved only by a remembered decision that covers it.
func TestN9WhatARecallApproves(t *testing.T) {
	run := remembering("mail", "pay")
	run.Open[0].HiddenFor = 5
	for memory, want := range map[int]error{9: ErrNotRemembered, 10: ErrNotRemembered, 11: nil} {
		cm, err := Recall(&run, 20, memory, noon)
		require.ErrorIs(t, err, want)
		require.Equal(t, want == nil, cm != nil && cm.Run.Answers[0].Actor == "memory:11")
	}
	_, err := Recall(&run, 19, 11, noon)
	require.ErrorIs(t, err, ErrNoPolicy)
	_, err = Recall(&run, 20, 11, noon.Add(5*time.Second))
	require.ErrorIs(t, err, ErrNoPolicy)
}

// N9: if the host remembers decisions, an approval that one of them covers is hidden for RecallTime. If
// the host has a policy, each approval is hidden for the policy's time instead.
func TestN9HowLongACoveredApprovalIsHidden(t *testing.T) {
	for _, c := range []struct {
		tool string
		host HostDefaults
		want uint16
	}{
		{"pay", HostDefaults{}, 0},
		{"pay", HostDefaults{Recall: time.Nanosecond}, 5},
		{"mail", HostDefaults{Recall: time.Hour}, 0},
		{"pay", HostDefaults{Recall: time.Hour, HideFor: 9 * time.Second}, 9},
		{"mail", HostDefaults{Recall: time.Hour, HideFor: 9 * time.Second}, 9},
	} {
		run := runningRun()
		run.Remembered = remembering("pay").Remembered
		ev := Evidence{host: c.host, question: &interaction.Question{Kind: interaction.Approval, Prompt: "?",
			Subject: &interaction.Subject{Tool: c.tool}}}
		asks := ev.asking("n")
		openQuestions(&run, &asks, noon)
		require.Equal(t, c.want, run.Open[0].HiddenFor, c)
	}
}
