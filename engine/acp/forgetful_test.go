package acp

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
)

// E2: an agent goes on by its session only where it keeps all of it, whatever it announces.
func TestAgentThatLosesItsSessionEndIsResident(t *testing.T) {
	for announced, want := range map[string]fsm.Profile{
		`{"agentInfo":{"name":"qwen-code","version":"0.24.4"},"agentCapabilities":{"loadSession":true}}`:  fsm.ProfileResumable,
		`{"agentInfo":{"name":"qwen-code","version":"1.0.0"},"agentCapabilities":{"loadSession":true}}`:   fsm.ProfileResumable,
		`{"agentInfo":{"name":"qwen-code","version":"0.15.10"},"agentCapabilities":{"loadSession":true}}`: fsm.ProfileStickyProcess,
		`{"agentInfo":{"name":"OpenCode"},"agentCapabilities":{"loadSession":true}}`:                      fsm.ProfileResumable,
		`{"agentInfo":{"name":"OpenCode"},"agentCapabilities":{"sessionCapabilities":{"resume":{}}}}`:     fsm.ProfileResumable,
		`{"agentInfo":{"name":"OpenCode"}}`: fsm.ProfileStickyProcess,
		`{"agentInfo":{"name":"qwen-code"},"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}}}`: fsm.ProfileStickyProcess,
	} {
		var h announcement
		require.NoError(t, json.Unmarshal([]byte(announced), &h))
		p := profileOf("agent", h, "")
		require.Equal(t, want, p.Kind, announced)
		require.NotEmpty(t, p.Reason)
		p = profileOf("agent", h, "no previous sessions")
		require.Equal(t, fsm.ProfileStickyProcess, p.Kind, "%s: an announcement is not believed", announced)
	}
}
