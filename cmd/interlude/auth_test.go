package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// acpAgentArg makes this test program an agent that speaks the Agent Client Protocol, opens a
// session only after a login by its method "door", and then succeeds.
const acpAgentArg = "agent-behind-a-door"

func acpAgentMain() {
	opened := false
	say := func(id json.RawMessage, part string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", id, part) }
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ MethodID string }
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		switch m.Method {
		case "initialize":
			say(m.ID, `"result":{"protocolVersion":1,"agentCapabilities":{},"agentInfo":{"name":"door","version":"1"},`+
				`"authMethods":[{"id":"door","name":"by the door"}]}`)
		case "authenticate":
			if opened = m.Params.MethodID == "door"; opened {
				say(m.ID, `"result":{}`)
			} else {
				say(m.ID, `"error":{"code":-32602,"message":"there is no such way"}`)
			}
		case "session/new":
			if opened {
				say(m.ID, `"result":{"sessionId":"s"}`)
			} else {
				say(m.ID, `"error":{"code":-32000,"message":"Authentication required"}`)
			}
		case "session/prompt":
			fmt.Println(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":` +
				`"agent_message_chunk","content":{"type":"text","text":"Come in.\n__SKILL_DONE__"}}}}`)
			say(m.ID, `"result":{"stopReason":"end_turn"}`)
		default:
			say(m.ID, `"error":{"code":-32601,"message":"unknown"}`)
		}
	}
	os.Exit(0)
}

// -auth, or the file of serve, logs an agent of acp:CMD in. Without it, or with another id, the run
// fails with a list of the ids.
func TestAuthLogsAnACPAgentIn(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	agent := "acp:" + self + " " + acpAgentArg
	folder := hello(t)
	s := play(t, "", "-mode", "auto", "-agent", agent, "-auth", "door", folder)
	require.Contains(t, s.out, "Come in.", s.side)
	for auth, want := range map[string]string{"": "door", "window": "refuses the authentication"} {
		s := play(t, "", "-mode", "auto", "-agent", agent, "-auth", auth, "-new", folder)
		require.NotEqual(t, succeeded, s.status)
		require.Contains(t, s.out+s.side, want)
		require.Contains(t, s.out+s.side, "door")
	}
	s = play(t, "", "-agent", "demo", "-auth", "door", folder)
	require.Equal(t, misused, s.status)
	require.Contains(t, s.side, "-auth is only for -agent acp:CMD")

	said, stop := serveFile(t, fmt.Sprintf(
		`{"listen": "127.0.0.1:0", "agents": {"one": {"agent": %q, "auth": "door"}}}`, agent))
	defer stop()
	status, _, body := request(t, http.MethodPost, said.Page+"api/runs",
		`{"id": "r", "prompt": "Open.", "mode": "auto"}`)
	require.Equal(t, http.StatusCreated, status, body)
	_, _, events := request(t, http.MethodGet, said.Page+"api/runs/r/events", "") // up to the run's end
	require.Contains(t, events, "Come in.")
}
