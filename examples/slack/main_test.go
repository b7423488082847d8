package main

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/host/slack/slacktest"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/lifecycle/rehearsal"
)

// P4: the tutorial's program asks in the channel, and pays after the approval.
func TestP4TheProgramAsksInTheChannel(t *testing.T) {
	t.Chdir(t.TempDir())
	s := slacktest.New(t)
	for name, value := range map[string]string{"SLACK_TOKEN": slacktest.Token, "SLACK_APP_TOKEN": slacktest.AppToken,
		"SLACK_API": s.URL, "SLACK_CHANNEL": "CDESK"} {
		t.Setenv(name, value)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, &out) }()
	require.NoError(t, s.Await(ctx, func() bool { return len(s.Questions()) == 1 }))
	<-s.Connected()
	require.Contains(t, s.Questions()[0].Shown(), "Refund order A-1017?")
	_, err := s.Press("ada", s.Questions()[0], "approve")
	require.NoError(t, err)
	require.NoError(t, <-ended)
	require.Equal(t, "succeeded Order A-1017 is paid back.\n", out.String())
	require.Contains(t, s.Questions()[0].Shown(), "Approved by UADA (slack)")
}

// N1: a rejected refund fails the run.
func TestN1ARejectedRefundIsNotPaid(t *testing.T) {
	for want, decide := range map[lifecycle.State]func(lifecycle.Question) lifecycle.Reply{
		lifecycle.StateSucceeded: rehearsal.Approves, lifecycle.StateFailed: rehearsal.Rejects("too much")} {
		run := rehearsal.Play(t, rehearsal.Case{Config: lifecycle.Config{Engine: flow.New("refund", refund)},
			Spec: lifecycle.Spec{Input: []byte(`"A-1"`)}, Reply: decide})
		require.Equal(t, want, run.State)
	}
}
