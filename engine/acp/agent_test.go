package acp_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/interlude-go/interlude/engine/enginetest/script"
)

// agentArg is the first argument of a process that is the scripted agent.
const agentArg = "acp-agent"

// lifetime ends an agent that an engine failed to end.
const lifetime = 5 * time.Minute

// agent is a scripted agent that speaks the protocol. Its sessions are files in its working folder.
type agent struct {
	conn      *sdk.AgentSideConnection
	out       *shared
	artifacts string
	// can has any of load, resume, unresumable, unloadable, unsupported, unprompted, closed, fragile,
	// forget, login, stubborn.
	can map[string]bool

	mu sync.Mutex // held by the turn
	on playing
}

// shared is the standard output, written by the agent and its connection.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// waiting blocks reads until ready, since the connection is used after its first read.
type waiting struct {
	ready <-chan struct{}
	r     io.Reader
}

func (w *waiting) Read(p []byte) (int, error) {
	<-w.ready
	return w.r.Read(p)
}

// recollection is a session's file: its inputs and the remaining plan.
type recollection struct {
	Inputs []string `json:"inputs"`
	Plan   []string `json:"plan"` // steps from the refused permission on
}

func agentMain() int {
	flags := flag.NewFlagSet(agentArg, flag.ContinueOnError)
	artifacts := flags.String("artifacts", ".", "folder for what is made")
	can := flags.String("can", "", "what the agent announces and how it behaves, with commas between")
	if err := flags.Parse(os.Args[2:]); err != nil {
		return 2
	}
	a := &agent{out: &shared{w: os.Stdout}, artifacts: *artifacts, can: make(map[string]bool)}
	for _, word := range strings.Split(*can, ",") {
		a.can[word] = true
	}
	if a.can["broken"] {
		fmt.Fprintln(os.Stderr, "agent: unknown flag --acp")
		return 2
	}
	if a.can["silent"] {
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	}
	ready := make(chan struct{})
	a.conn = sdk.NewAgentSideConnection(a, a.out, &waiting{ready, os.Stdin})
	close(ready)
	select {
	case <-a.conn.Done():
		return 0
	case <-time.After(lifetime):
		return 3
	}
}

func (a *agent) Initialize(_ context.Context, in sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	out := sdk.InitializeResponse{
		ProtocolVersion: in.ProtocolVersion, AgentInfo: &sdk.Implementation{Name: "scripted",
			Title: sdk.Ptr("Scripted"), Version: "1.2.3"},
		AuthMethods: []sdk.AuthMethod{{Agent: &sdk.AuthMethodAgent{Id: "door", Name: "by the door"}}},
	}
	out.AgentCapabilities.LoadSession = a.can["load"]
	if a.can["resume"] || a.can["unresumable"] {
		out.AgentCapabilities.SessionCapabilities.Resume = &sdk.SessionResumeCapabilities{}
	}
	if a.can["old"] {
		out.ProtocolVersion = 0
	}
	if in.ClientCapabilities.Fs.ReadTextFile || in.ClientCapabilities.Fs.WriteTextFile ||
		in.ClientCapabilities.Terminal {
		return out, errors.New("the client offers more than it says")
	}
	return out, nil
}

func (a *agent) Authenticate(_ context.Context, in sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	if in.MethodId != "door" {
		return sdk.AuthenticateResponse{}, errors.New("no such method")
	}
	a.can["login"] = false
	return sdk.AuthenticateResponse{}, nil
}

func (a *agent) NewSession(_ context.Context, in sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	if a.can["login"] {
		return sdk.NewSessionResponse{}, sdk.NewAuthRequired(nil)
	}
	if a.can["closed"] && !opened() {
		return sdk.NewSessionResponse{}, errors.New("overloaded")
	}
	id := strings.ToLower(rand.Text())
	if dir, err := os.Getwd(); err != nil || dir != in.Cwd {
		return sdk.NewSessionResponse{}, fmt.Errorf("cwd is %s, the process is in %s", in.Cwd, dir)
	}
	return sdk.NewSessionResponse{SessionId: sdk.SessionId(id)}, remember(id, recollection{Inputs: []string{}})
}

// openEnv names a file. While it is missing, a closed agent opens no session, and a fragile one
// exits when it must load one.
const openEnv = "ACP_TEST_OPEN"

func opened() bool {
	_, err := os.Stat(os.Getenv(openEnv))
	return err == nil
}

func file(session string) string { return ".session-" + filepath.Base(session) }

func remember(session string, m recollection) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return makeFile(".", file(session), string(body))
}

func recalled(session string) (m recollection, _ error) {
	body, err := os.ReadFile(file(session))
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(body, &m)
}

func makeFile(dir, name, content string) error {
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// LoadSession replays the whole session, as the protocol requires.
func (a *agent) LoadSession(ctx context.Context, in sdk.LoadSessionRequest) (sdk.LoadSessionResponse, error) {
	m, err := recalled(string(in.SessionId))
	switch {
	case a.can["unloadable"]:
		return sdk.LoadSessionResponse{}, sdk.NewMethodNotFound(sdk.AgentMethodSessionLoad)
	case a.can["unsupported"]:
		return sdk.LoadSessionResponse{}, errors.New("loadSession is not supported")
	case a.can["unprompted"] && len(m.Inputs) == 0: // claude-agent-acp stores a session with its first prompt
		return sdk.LoadSessionResponse{}, errors.New("session not found")
	case a.can["fragile"] && !opened():
		os.Exit(1)
	}
	if err != nil && !a.can["forget"] {
		return sdk.LoadSessionResponse{}, err
	}
	for _, input := range m.Inputs {
		for _, u := range []sdk.SessionUpdate{
			sdk.UpdateUserMessageText(input), sdk.UpdateAgentMessageText("an old message\n" + script.DoneMarker + "\n"),
			sdk.StartToolCall("old", "an old tool"),
		} {
			if err := a.conn.SessionUpdate(ctx, sdk.SessionNotification{SessionId: in.SessionId,
				Update: u}); err != nil {
				return sdk.LoadSessionResponse{}, err
			}
		}
	}
	return sdk.LoadSessionResponse{}, nil
}

func (a *agent) ResumeSession(_ context.Context, in sdk.ResumeSessionRequest) (sdk.ResumeSessionResponse, error) {
	if a.can["unresumable"] {
		return sdk.ResumeSessionResponse{}, sdk.NewMethodNotFound(sdk.AgentMethodSessionResume)
	}
	_, err := recalled(string(in.SessionId))
	return sdk.ResumeSessionResponse{}, err
}

// Prompt stores the input and performs its steps; an input without steps answers the pending plan.
func (a *agent) Prompt(ctx context.Context, in sdk.PromptRequest) (sdk.PromptResponse, error) {
	if a.can["stubborn"] {
		ctx = context.WithoutCancel(ctx)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	m, err := recalled(string(in.SessionId))
	if err != nil {
		return sdk.PromptResponse{}, err
	}
	var input strings.Builder
	for _, block := range in.Prompt {
		input.WriteString(block.Text.Text)
	}
	m.Inputs = append(m.Inputs, input.String())
	steps := script.Steps(input.String())
	if len(steps) == 0 {
		steps = script.Steps(script.Script(m.Plan...))
	}
	m.Plan = nil
	if err := remember(string(in.SessionId), m); err != nil {
		return sdk.PromptResponse{}, err
	}
	a.on = playing{agent: a, session: in.SessionId, inputs: m.Inputs, artifacts: a.artifacts}
	ctx, stop := context.WithTimeout(ctx, lifetime)
	defer stop()
	return a.on.play(ctx, steps)
}

func (a *agent) Cancel(context.Context, sdk.CancelNotification) error { return nil }

func (a *agent) Logout(context.Context, sdk.LogoutRequest) (sdk.LogoutResponse, error) {
	return sdk.LogoutResponse{}, errors.New("not offered")
}

func (a *agent) CloseSession(context.Context, sdk.CloseSessionRequest) (sdk.CloseSessionResponse, error) {
	return sdk.CloseSessionResponse{}, errors.New("not offered")
}

func (a *agent) ListSessions(context.Context, sdk.ListSessionsRequest) (sdk.ListSessionsResponse, error) {
	return sdk.ListSessionsResponse{}, errors.New("not offered")
}

func (a *agent) SetSessionConfigOption(context.Context,
	sdk.SetSessionConfigOptionRequest) (sdk.SetSessionConfigOptionResponse, error) {
	return sdk.SetSessionConfigOptionResponse{}, errors.New("not offered")
}

func (a *agent) SetSessionMode(context.Context, sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	return sdk.SetSessionModeResponse{}, errors.New("not offered")
}
