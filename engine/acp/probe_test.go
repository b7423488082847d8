package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
)

// E2: an agent continues by its session only if it keeps all of it, whatever it announces.
func TestAgentThatLosesItsSessionEndIsResident(t *testing.T) {
	for announced, want := range map[string]fsm.Profile{
		`{"agentInfo":{"name":"qwen-code","version":"0.24.4"},"agentCapabilities":{"loadSession":true}}`:  fsm.ProfileResumable,
		`{"agentInfo":{"name":"qwen-code","version":"1.0.0"},"agentCapabilities":{"loadSession":true}}`:   fsm.ProfileResumable,
		`{"agentInfo":{"name":"qwen-code","version":"0.15.10"},"agentCapabilities":{"loadSession":true}}`: fsm.ProfileStickyProcess,
		`{"agentInfo":{"name":"OpenCode"},"agentCapabilities":{"loadSession":true}}`:                      fsm.ProfileResumable,
		`{"agentInfo":{"name":"OpenCode"},"agentCapabilities":{"sessionCapabilities":{"resume":{}}}}`:     fsm.ProfileResumable,
		`{"agentInfo":{"name":"gemini-cli","version":"0.61.0"},"agentCapabilities":{"loadSession":true}}`: fsm.ProfileStickyProcess,
		`{"agentInfo":{"name":"OpenCode"}}`: fsm.ProfileStickyProcess,
		`{"agentInfo":{"name":"qwen-code"},"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}}}`: fsm.ProfileStickyProcess,
	} {
		var h announcement
		require.NoError(t, json.Unmarshal([]byte(announced), &h))
		p := profileOf("agent", h, trial{})
		require.Equal(t, want, p.Kind, announced)
		require.NotEmpty(t, p.Reason)
		p = profileOf("agent", h, trial{refusal: "method not found"})
		require.Equal(t, fsm.ProfileStickyProcess, p.Kind, "%s: an announcement is not believed", announced)
	}
}

// E2: only a refused method disproves the announcement. A timeout or a lost connection decides
// nothing, and an agent that can load others may not know a session without a prompt.
func TestOnlyARefusedMethodEndsTheAnnouncement(t *testing.T) {
	late, stop := context.WithTimeoutCause(t.Context(), 0, errStart)
	defer stop()
	internal := func(text string) error { return sdk.NewInternalError(map[string]string{"details": text}) }
	for _, tc := range []struct {
		ctx  context.Context
		err  error
		want trial
	}{
		{want: trial{}},
		{ctx: late, err: errStart, want: trial{undecided: true}},
		{err: errEnded, want: trial{undecided: true}},
		{err: errUnread, want: trial{undecided: true}},
		{err: process.ErrFlood, want: trial{undecided: true}},
		{err: sdk.NewAuthRequired(nil), want: trial{undecided: true}},
		{err: internal("No previous sessions found for this project."), want: trial{}},
		{err: &sdk.RequestError{Code: -32002, Message: "Resource not found"}, want: trial{}},
		{err: sdk.NewInvalidParams("Session not found"), want: trial{}},
		{err: sdk.NewMethodNotFound("session/load"), want: trial{refusal: "-32601"}},
		{err: internal("Method not found"), want: trial{refusal: "Method not found"}},
		{err: internal("loadSession is not implemented"), want: trial{refusal: "not implemented"}},
	} {
		got := judge(cmp.Or(tc.ctx, t.Context()), tc.err)
		require.Equal(t, tc.want.undecided, got.undecided, tc.err)
		require.Equal(t, tc.want.refusal == "", got.refusal == "", tc.err)
		require.Contains(t, got.refusal, tc.want.refusal)
	}
}

// SetProvisional sets the lifetime of a provisional profile.
func (e *Engine) SetProvisional(d time.Duration) { e.provisional = d }

// I2: a line is in the transcript before the agent can react to it: its turn may end then.
func TestALineIsRecordedBeforeTheAgentReadsIt(t *testing.T) {
	var w *wire
	recorded := 0
	w = newWire(make(chan struct{}), func(string) {
		require.Empty(t, w.out)
		recorded++
	})
	require.NoError(t, w.notify("session/cancel", nil))
	require.Len(t, w.out, 1)
	require.Equal(t, 1, recorded)
}
