package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
)

// clientVersion is the version that agents are told; it changes with what this engine can do.
const clientVersion = "1"

// errStart says that the agent took too long to open its session.
var errStart = errors.New("acp: the agent did not open its session within Config.StartLimit")

// open prepares a new process for prompts: in a new session, or in the run's.
func (t *turn) open() error {
	ctx, stop := context.WithTimeoutCause(t.ctx, t.cfg.StartLimit, errStart)
	defer stop()
	a := t.agent
	err := a.initialize(ctx, t.cfg.AuthMethod)
	if err != nil {
		return err
	}
	if t.in.Session != nil && !t.sticky {
		err = t.resume(ctx)
	} else {
		err = t.begin(ctx)
	}
	return err
}

// skipHistory drops what the agent has written so far, its history. Its messages from then on are
// the turn's.
func (t *turn) skipHistory() error {
	select {
	case <-t.agent.feed.drain():
	case <-t.agent.gone: // the prompt finds out
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	}
	t.agent.hear.Lock()
	defer t.agent.hear.Unlock()
	t.speaking = true
	return nil
}

// initialize finds out what the agent can do, and logs in where the host says how.
func (a *agent) initialize(ctx context.Context, method string) error {
	hello := sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientInfo:      &sdk.Implementation{Name: "interlude", Version: clientVersion},
	}
	switch err := a.call(ctx, sdk.AgentMethodInitialize, hello, &a.hello); {
	case lost(ctx, err):
		return err
	case err != nil:
		return process.Unavailable("the agent does not speak the Agent Client Protocol: "+a.text(reason(err)), nil)
	case a.hello.ProtocolVersion != sdk.ProtocolVersionNumber:
		return process.Unavailable(fmt.Sprintf("the agent speaks version %d of the Agent Client Protocol, want %d",
			a.hello.ProtocolVersion, sdk.ProtocolVersionNumber), nil)
	case method == "":
		return nil
	}
	err := a.call(ctx, sdk.AgentMethodAuthenticate, sdk.AuthenticateRequest{MethodId: method}, new(json.RawMessage))
	if err == nil || lost(ctx, err) {
		return err
	}
	return process.Unavailable(fmt.Sprintf("the agent refuses the authentication %q (it offers: %s): %s", method,
		a.hello.methods(), a.text(reason(err))), nil)
}

// lost reports whether a call failed without an answer of the agent.
func lost(ctx context.Context, err error) bool {
	return err != nil && (errors.Is(err, errGone) || breaksConnection(err) || ctx.Err() != nil)
}

// breaksConnection reports whether this is a reason to give up a connection.
func breaksConnection(err error) bool {
	var odd errProtocol
	return errors.Is(err, process.ErrFlood) || errors.Is(err, errUnread) || errors.As(err, &odd)
}

// begin opens a new session, and stores it at once.
func (t *turn) begin(ctx context.Context) error {
	var opened struct {
		SessionID string `json:"sessionId"` //nolint:tagliatelle // the protocol's word
	}
	err := t.agent.call(ctx, sdk.AgentMethodSessionNew, sdk.NewSessionRequest{Cwd: t.in.WorkDir,
		McpServers: []sdk.McpServer{}}, &opened)
	switch {
	case lost(ctx, err):
		return err
	case needsLogin(err):
		return t.agent.login(err)
	case err != nil:
		return process.Unavailable("the agent opens no session: "+t.agent.text(reason(err)), nil)
	}
	if err := checkSession(opened.SessionID); err != nil {
		return process.Unavailable("the agent opened a session that cannot be kept", err)
	}
	t.agent.hear.Lock()
	t.state = state{Session: opened.SessionID}
	t.agent.session = t.state.Session
	t.agent.hear.Unlock()
	return t.store()
}

func needsLogin(err error) bool {
	var said *sdk.RequestError
	return errors.As(err, &said) && said.Code == codeAuthRequired
}

// login is the failure of a turn whose agent asks for a login.
func (a *agent) login(err error) error {
	return process.Unavailable(fmt.Sprintf("the agent wants to be logged in: set Config.AuthMethod to one of its "+
		"methods "+
		"(%s), or give it its keys: %s", a.hello.methods(), a.text(reason(err))), nil)
}

// resume resumes the run's session: by session/resume where the agent announces and knows it,
// otherwise by session/load.
func (t *turn) resume(ctx context.Context) error {
	a := t.agent
	a.hear.Lock()
	a.session = t.state.Session
	a.hear.Unlock()
	id := sdk.SessionId(t.state.Session)
	err := error(sdk.NewMethodNotFound("a way to resume a session"))
	loaded := false
	if a.hello.resumes() {
		err = a.call(ctx, sdk.AgentMethodSessionResume, sdk.ResumeSessionRequest{Cwd: t.in.WorkDir,
			McpServers: []sdk.McpServer{}, SessionId: id}, new(json.RawMessage))
	}
	if a.hello.Capabilities.LoadSession && unknownMethod(err) {
		loaded = true
		err = a.call(ctx, sdk.AgentMethodSessionLoad, sdk.LoadSessionRequest{Cwd: t.in.WorkDir,
			McpServers: []sdk.McpServer{}, SessionId: id}, new(json.RawMessage))
	}
	switch {
	case lost(ctx, err):
		return err
	case needsLogin(err):
		return a.login(err)
	case err != nil:
		return t.resumeFailed(a.text(reason(err)))
	}
	a.hear.Lock()
	defer a.hear.Unlock()
	if loaded && !t.replayed && t.in.GoesOn() { // some agents begin a new session without a word
		return t.resumeFailed("it told nothing of the session's history, as it must")
	}
	return nil
}

func (t *turn) resumeFailed(why string) error {
	return &engine.Failure{Code: fsm.CodeSessionResumeFailed, Detail: "the agent cannot resume its session: " + why}
}

func unknownMethod(err error) bool {
	var said *sdk.RequestError
	return errors.As(err, &said) && said.Code == codeMethodNotFound
}
