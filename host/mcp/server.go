package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/lifecycle"
)

// protocol is the name of the protocol: Actor.Via, and the prefix of run ids.
const protocol = "mcp"

// stateless is the first revision without sessions.
const stateless = "2026-07-28"

const tasksExtension = "io.modelcontextprotocol/tasks"

// Server serves tools. It is safe for concurrent use.
type Server struct {
	config Config
	tools  map[string]*Tool

	closed context.Context //nolint:containedctx // ends all calls
	close  context.CancelFunc

	mu       sync.Mutex             // guards the fields below
	calls    map[string]int         // by principal
	requests map[string]int         // HTTP requests, by principal
	sessions map[sessionKey]*ending // of sessions with calls
	owners   map[string]string      // the principals of sessions over HTTP, by id
	opening  map[string]int         // requests that may open a session, by principal
}

type sessionKey struct{ principal, session string }

// ending ends the calls of a session. The SDK waits for them when a session is deleted, and so for a
// dialog that no one will answer any more.
type ending struct {
	context.Context //nolint:containedctx // of the session's calls

	end   context.CancelFunc
	calls int
}

// New returns a server. It starts nothing.
func New(cfg Config) (*Server, error) {
	cfg.Tools = slices.Clone(cfg.Tools)
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	s := &Server{config: cfg, tools: make(map[string]*Tool), calls: make(map[string]int),
		requests: make(map[string]int), sessions: make(map[sessionKey]*ending), owners: make(map[string]string),
		opening: make(map[string]int)}
	for i := range s.config.Tools {
		s.tools[s.config.Tools[i].Name] = &s.config.Tools[i]
	}
	s.closed, s.close = context.WithCancel(context.Background())
	wait := waitTool(&s.config)
	s.tools[wait.Name] = &wait
	return s, nil
}

// Close ends all calls, so that an http.Server can shut down without waiting for them. Their runs
// continue. Later calls end at once.
func (s *Server) Close() { s.close() }

// ServeStdio serves one client over its standard input and output, as the actor, until ctx or the
// input ends.
func (s *Server) ServeStdio(ctx context.Context, actor lifecycle.Actor, in io.ReadCloser, out io.WriteCloser) error {
	if actor.ID == "" {
		return &lifecycle.ArgumentError{Argument: "actor.ID", Want: "the ID of a person"}
	}
	server := s.newSDK(nil, func(sdk.Request) (identity, bool) { return identity{actor: actor}, true })
	err := server.Run(ctx, &sdk.IOTransport{Reader: in, Writer: out})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

type identity struct {
	actor lifecycle.Actor
	// request is the context of the HTTP request; nil: none. The host's Authorize may read its values,
	// such as the scope of a token.
	request context.Context //nolint:containedctx // only for its values
}

// identified returns the caller of a request, as an HTTP handler has stored it.
func identified(req sdk.Request) (identity, bool) {
	extra := req.GetExtra()
	if extra == nil || extra.TokenInfo == nil {
		return identity{}, false
	}
	who, ok := extra.TokenInfo.Extra[protocol].(identity)
	return who, ok
}

// token returns the caller in the form in which the SDK binds sessions to users.
func (i identity) token() *auth.TokenInfo {
	return &auth.TokenInfo{UserID: i.actor.ID, Extra: map[string]any{protocol: i}}
}

// withValues is the context of a call with the values of its HTTP request. The SDK derives the
// context from the request that opened the session, whose values, such as the scope of a token, do
// not apply to later requests.
type withValues struct {
	context.Context //nolint:containedctx // of the call

	request context.Context //nolint:containedctx // only for its values
}

func (c withValues) Value(key any) any {
	if v := c.request.Value(key); v != nil {
		return v
	}
	return c.Context.Value(key)
}

// newSDK returns a server of the SDK for these revisions; nil: all.
func (s *Server) newSDK(revisions []string, caller func(sdk.Request) (identity, bool)) *sdk.Server {
	capabilities := &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}
	capabilities.AddExtension(tasksExtension, nil)
	server := sdk.NewServer(&sdk.Implementation{Name: s.config.Name, Title: s.config.Title, Version: s.config.Version},
		&sdk.ServerOptions{Instructions: s.config.Instructions, Logger: s.config.Logger, Capabilities: capabilities,
			SupportedProtocolVersions: revisions})
	for _, t := range s.tools {
		server.AddTool(&sdk.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema,
			Annotations: t.Annotations}, fromContext)
	}
	for _, add := range []func() error{
		func() error { return sdk.AddReceivingCustomMethod(server, "tasks/get", taskMethod(s.getTask)) },
		func() error { return sdk.AddReceivingCustomMethod(server, "tasks/update", taskMethod(s.updateTask)) },
		func() error { return sdk.AddReceivingCustomMethod(server, "tasks/cancel", taskMethod(s.cancelTask)) },
	} {
		if err := add(); err != nil {
			panic(err) // the SDK knows the method now, and this package must be adapted
		}
	}
	server.AddReceivingMiddleware(s.middleware(caller))
	return server
}

// callerKey is the key of the *caller in a method's context, and resultKey of the
// result of a call.
type (
	callerKey struct{}
	resultKey struct{}
)

// caller is who makes a request, and what their client supports.
type caller struct {
	*front.Caller
	client

	session *sdk.ServerSession
	extra   *sdk.RequestExtra
}

// middleware serves calls of tools, and identifies the callers of all methods of tasks. Results of
// type CallToolResult leave through fromContext, because the SDK sets their resultType behind the
// tool's handler.
func (s *Server) middleware(identify func(sdk.Request) (identity, bool)) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (result sdk.Result, err error) {
			switch method {
			case "tools/call", "tasks/get", "tasks/update", "tasks/cancel":
			case "prompts/list", "prompts/get", "resources/list", "resources/read", "resources/templates/list",
				"completion/complete", "logging/setLevel":
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "not supported"}
			default:
				return next(ctx, method, req)
			}
			who, ok := identify(req)
			actor := who.actor
			session, isServer := req.GetSession().(*sdk.ServerSession)
			if !ok || !isServer || actor.ID == "" {
				return nil, &jsonrpc.Error{Code: codeUnauthenticated, Message: "unauthenticated"}
			}
			if actor.Via == "" {
				actor.Via = protocol
			}
			ctx, leave, err := s.enter(ctx, sessionKey{actor.ID, session.ID()})
			if err != nil {
				return nil, err
			}
			defer leave()
			if who.request != nil {
				ctx = withValues{ctx, who.request}
			}
			c := &caller{Caller: front.For(s.config.Client, actor), client: clientOf(session, req), session: session,
				extra: req.GetExtra()}
			ctx = context.WithValue(ctx, callerKey{}, c)
			err = front.Guard(func() (err error) {
				result, err = s.serve(ctx, c, next, method, req)
				return err
			})
			if errors.Is(err, front.ErrHost) {
				s.config.Logger.Error("mcp: a request failed", "method", method, "err", err)
				return nil, internalError()
			}
			return result, err
		}
	}
}

// serve serves a request of a known caller. It calls the host's functions.
func (s *Server) serve(ctx context.Context, c *caller, next sdk.MethodHandler, method string, req sdk.Request) (
	sdk.Result, error,
) {
	params, isCall := req.GetParams().(*sdk.CallToolParamsRaw)
	if !isCall {
		return next(ctx, method, req)
	}
	tool := s.tools[params.Name]
	if tool == nil {
		return next(ctx, method, req) // next reports the unknown tool
	}
	result, err := s.call(ctx, c, tool, params)
	if err != nil {
		return nil, s.rpcError(ctx, method, err)
	}
	if r, ok := result.(*sdk.CallToolResult); ok {
		return next(context.WithValue(ctx, resultKey{}, r), method, req)
	}
	return result, nil
}

func fromContext(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	r, ok := ctx.Value(resultKey{}).(*sdk.CallToolResult)
	if !ok {
		return nil, internalError()
	}
	return r, nil
}

// enter counts a call of the principal. Its context ends with the session.
func (s *Server) enter(ctx context.Context, key sessionKey) (_ context.Context, leave func(), _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[key.principal] >= s.config.Calls {
		return nil, nil, &jsonrpc.Error{Code: codeTooMany,
			Message: fmt.Sprintf("you have %d calls at the same time; wait for one to end", s.config.Calls)}
	}
	s.calls[key.principal]++
	ctx, cancel := context.WithCancel(ctx)
	open := s.sessions[key]
	if open == nil {
		open = &ending{}
		open.Context, open.end = context.WithCancel(s.closed)
		s.sessions[key] = open
	}
	open.calls++
	stop := context.AfterFunc(open, cancel)
	return ctx, func() {
		stop()
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.calls[key.principal]--; s.calls[key.principal] == 0 {
			delete(s.calls, key.principal)
		}
		if open.calls--; open.calls == 0 {
			open.end()
			if s.sessions[key] == open {
				delete(s.sessions, key)
			}
		}
	}, nil
}

// endCalls ends the calls of a session that its principal deletes. Their runs continue.
func (s *Server) endCalls(key sessionKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open := s.sessions[key]; open != nil {
		open.end()
		delete(s.sessions, key)
	}
}

// Codes of JSON-RPC errors that the SDK does not define.
const (
	codeUnauthenticated = -32001
	codeTooMany         = -32005
)

func internalError() error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: front.FaultOf(nil).Text}
}

// rpcError returns the error for the client. It never has the text of a store.
func (s *Server) rpcError(ctx context.Context, method string, err error) error {
	var known *jsonrpc.Error
	if errors.As(err, &known) {
		return known
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	fault := front.FaultOf(err)
	code := int64(jsonrpc.CodeInvalidParams)
	if fault.Unknown {
		code = jsonrpc.CodeInternalError
		s.config.Logger.Error("mcp: a request failed", "method", method, "err", err)
	}
	data, _ := json.Marshal(map[string]string{"code": fault.Code})
	var refused *lifecycle.NotAllowedError
	if fault.Code == "NOT_FOUND" || errors.As(err, &refused) && refused.Action == lifecycle.ActionView {
		return errUnknownRun // which does not reveal whether the run exists
	}
	return &jsonrpc.Error{Code: code, Message: fault.Text, Data: data}
}

var errUnknownRun = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "There is no such run."}

type client struct {
	stateless bool
	form, url bool // elicitation
	tasks     bool
}

// clientOf reads the capabilities from the request, otherwise from the session's initialization.
func clientOf(session *sdk.ServerSession, req sdk.Request) client {
	var c client
	var capabilities *sdk.ClientCapabilities
	if init := session.InitializeParams(); init != nil {
		c.stateless = init.ProtocolVersion >= stateless
		capabilities = init.Capabilities
	}
	meta := req.GetParams().GetMeta()
	if version, ok := meta[sdk.MetaKeyProtocolVersion].(string); ok {
		c.stateless = version >= stateless
	}
	if given, ok := meta[sdk.MetaKeyClientCapabilities]; ok {
		capabilities = new(sdk.ClientCapabilities)
		if raw, err := json.Marshal(given); err != nil || json.Unmarshal(raw, capabilities) != nil {
			capabilities = nil
		}
	}
	if capabilities == nil {
		return c
	}
	_, c.tasks = capabilities.Extensions[tasksExtension]
	c.tasks = c.tasks && c.stateless
	if e := capabilities.Elicitation; e != nil {
		c.form, c.url = e.Form != nil || e.URL == nil, e.URL != nil
	}
	return c
}
