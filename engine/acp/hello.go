package acp

import (
	"encoding/json"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/interlude-go/interlude/engine/process"
)

// hello is an agent's answer to initialize, as far as it is used: what else it holds may be of any
// shape.
//
//nolint:tagliatelle // the protocol's words
type hello struct {
	ProtocolVersion int `json:"protocolVersion"`
	Info            struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Version string `json:"version"`
	} `json:"agentInfo"`
	Logins []struct {
		ID string `json:"id"`
	} `json:"authMethods"`
	Capabilities struct {
		LoadSession bool `json:"loadSession"`
		Session     struct {
			Resume json.RawMessage `json:"resume"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
}

// String names the agent.
func (h hello) String() string {
	name := h.Info.Title
	if name == "" {
		name = h.Info.Name
	}
	if name == "" {
		name = "an agent without a name"
	}
	return process.Clip(strings.TrimSpace(name+" "+h.Info.Version), 200)
}

// resumes reports whether the agent announces session/resume.
func (h hello) resumes() bool {
	able := string(h.Capabilities.Session.Resume)
	return able != "" && able != "null" && able != "false"
}

// ways names the ways to resume a session, "" when there is none.
func (h hello) ways() string {
	var ways []string
	if h.resumes() {
		ways = append(ways, sdk.AgentMethodSessionResume)
	}
	if h.Capabilities.LoadSession {
		ways = append(ways, sdk.AgentMethodSessionLoad)
	}
	return strings.Join(ways, " and ")
}

// methods names the ways to log in.
func (h hello) methods() string {
	ids := make([]string, 0, len(h.Logins))
	for _, l := range h.Logins {
		ids = append(ids, l.ID)
	}
	if len(ids) == 0 {
		return "none"
	}
	return process.Clip(strings.Join(ids, ", "), 500)
}
