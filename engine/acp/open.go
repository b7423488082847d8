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

// clientVersion is the version sent to agents. It changes when this engine uses more of the
// protocol.
const clientVersion = "1"

var errStart = errors.New("acp: the agent did not open its session in time")

// openSession prepares a new process for prompts, in a new session or the run's.
func (t *turn) openSession() error {
	ctx, stop := context.WithTimeoutCause(t.ctx, t.cfg.StartLimit, errStart)
	defer stop()
	a := t.agent
	if err := a.initialize(ctx); err != nil {
		return err
	}
	if err := a.logIn(ctx, t.cfg.AuthMethod); err != nil {
		return err
	}
	if t.in.Session != nil && !t.sticky {
		return t.resume(ctx)
	}
	return t.newSession(ctx)
}

// skipHistory discards the output so far, which is history.
func (t *turn) skipHistory() error {
	select {
	case <-t.agent.feed.drain():
	case <-t.agent.outputEnded: // the prompt will fail
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	}
	t.agent.handling.Lock()
	defer t.agent.handling.Unlock()
	t.live = true
	return nil
}

// initializeRequest is the parameters of initialize. The SDK's type lacks session.notices, without
// which claude-agent-acp sends warnings as model messages.
//
//nolint:tagliatelle // the protocol's words
type initializeRequest struct {
	ProtocolVersion int                `json:"protocolVersion"`
	ClientInfo      sdk.Implementation `json:"clientInfo"`
	Capabilities    struct {
		FS struct {
			ReadTextFile  bool `json:"readTextFile"`
			WriteTextFile bool `json:"writeTextFile"`
		} `json:"fs"`
		Terminal bool `json:"terminal"`
		Session  struct {
			Notices *struct{} `json:"notices"`
		} `json:"session"`
	} `json:"clientCapabilities"`
}

func (a *agent) initialize(ctx context.Context) error {
	params := initializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientInfo:      sdk.Implementation{Name: "interlude", Version: clientVersion},
	}
	params.Capabilities.Session.Notices = &struct{}{}
	switch err := a.call(ctx, sdk.AgentMethodInitialize, params, &a.announced); {
	case unanswered(ctx, err):
		return err
	case err != nil:
		return process.Unavailable("the agent does not speak the Agent Client Protocol: "+
			a.redacted(describe(err)), nil)
	case a.announced.ProtocolVersion != sdk.ProtocolVersionNumber:
		return process.Unavailable(fmt.Sprintf("the agent speaks version %d of the Agent Client Protocol, want %d",
			a.announced.ProtocolVersion, sdk.ProtocolVersionNumber), nil)
	}
	return nil
}

func (a *agent) logIn(ctx context.Context, method string) error {
	if method == "" {
		return nil
	}
	err := a.call(ctx, sdk.AgentMethodAuthenticate, sdk.AuthenticateRequest{MethodId: method}, new(json.RawMessage))
	if err == nil || unanswered(ctx, err) {
		return err
	}
	return process.Unavailable(fmt.Sprintf("the agent refuses the authentication %q (it offers: %s): %s", method,
		a.announced.methods(), a.redacted(describe(err))), nil)
}

// unanswered reports whether a call failed without an answer of the agent.
func unanswered(ctx context.Context, err error) bool {
	return err != nil && (errors.Is(err, errEnded) || breaksConnection(err) || ctx.Err() != nil)
}

func breaksConnection(err error) bool {
	var protocol errProtocol
	return errors.Is(err, process.ErrFlood) || errors.Is(err, errUnread) || errors.As(err, &protocol)
}

func (t *turn) newSession(ctx context.Context) error {
	session, err := t.agent.newSession(ctx, t.in.WorkDir)
	switch {
	case unanswered(ctx, err):
		return err
	case wantsLogin(err):
		return t.agent.notLoggedIn(err)
	case err != nil:
		return process.Unavailable("the agent opens no session: "+t.agent.redacted(describe(err)), nil)
	}
	if err := validateSession(session); err != nil {
		return process.Unavailable("the agent opened a session that cannot be kept", err)
	}
	t.agent.handling.Lock()
	t.state = state{Session: session}
	t.agent.session = t.state.Session
	t.agent.handling.Unlock()
	return t.store()
}

func (a *agent) newSession(ctx context.Context, dir string) (id string, _ error) {
	var opened struct {
		SessionID string `json:"sessionId"` //nolint:tagliatelle // the protocol's word
	}
	err := a.call(ctx, sdk.AgentMethodSessionNew, sdk.NewSessionRequest{Cwd: dir,
		McpServers: []sdk.McpServer{}}, &opened)
	return opened.SessionID, err
}

// resumeSession resumes a session: by session/resume if announced and implemented, otherwise by
// session/load.
func (a *agent) resumeSession(ctx context.Context, dir, id string) (loaded bool, err error) {
	err = sdk.NewMethodNotFound("a way to resume a session")
	if a.announced.resumes() {
		err = a.call(ctx, sdk.AgentMethodSessionResume, sdk.ResumeSessionRequest{Cwd: dir,
			McpServers: []sdk.McpServer{}, SessionId: sdk.SessionId(id)}, new(json.RawMessage))
	}
	if a.announced.Capabilities.LoadSession && refusesMethod(err) {
		loaded = true
		err = a.call(ctx, sdk.AgentMethodSessionLoad, sdk.LoadSessionRequest{Cwd: dir,
			McpServers: []sdk.McpServer{}, SessionId: sdk.SessionId(id)}, new(json.RawMessage))
	}
	return loaded, err
}

func wantsLogin(err error) bool {
	var said *sdk.RequestError
	return errors.As(err, &said) && said.Code == codeAuthRequired
}

func (a *agent) notLoggedIn(err error) error {
	return process.Unavailable(fmt.Sprintf("the agent requires a login: configure one of its methods (%s), "+
		"or give it its keys: %s", a.announced.methods(), a.redacted(describe(err))), nil)
}

func (t *turn) resume(ctx context.Context) error {
	a := t.agent
	a.handling.Lock()
	a.session = t.state.Session
	a.handling.Unlock()
	loaded, err := a.resumeSession(ctx, t.in.WorkDir, t.state.Session)
	switch {
	case unanswered(ctx, err):
		return err
	case wantsLogin(err):
		return a.notLoggedIn(err)
	case err != nil:
		return t.resumeFailed(a.redacted(describe(err)))
	}
	a.handling.Lock()
	defer a.handling.Unlock()
	if loaded && !t.replayed && t.in.GoesOn() { // some agents begin a new session and report no error
		return t.resumeFailed("it did not replay the session's history, as session/load requires")
	}
	return nil
}

func (t *turn) resumeFailed(why string) error {
	return &engine.Failure{Code: fsm.CodeSessionResumeFailed, Detail: "the agent cannot resume its session: " + why}
}
