package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/host/reqbody"
	"github.com/interlude-go/interlude/lifecycle"
)

const bodyTime = time.Minute

// maxSessions limits the sessions of all callers together, maxSessionsEach the sessions of one
// principal.
const (
	maxSessions     = 1000
	maxSessionsEach = 100
)

// maxRequestsEach limits the concurrent HTTP requests of one principal, including streams.
const maxRequestsEach = 200

// sessionTimeout ends idle sessions of revisions that have sessions.
const sessionTimeout = time.Hour

// Handler serves Streamable HTTP at any path. Requests from pages of other sites are refused.
func (s *Server) Handler() (http.Handler, error) {
	if s.config.Identify == nil {
		return nil, errConfig("Identify", "a function, to serve HTTP")
	}
	newest := s.newSDK([]string{stateless, "2025-11-25", "2025-06-18"}, identified)
	earlier := s.newSDK([]string{"2025-11-25", "2025-06-18"}, identified)
	without := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newest },
		&sdk.StreamableHTTPOptions{Stateless: true, Logger: s.config.Logger, MaxRequestBodyBytes: MaxBody,
			PropagateRequestCancellation: true})
	with := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return earlier },
		&sdk.StreamableHTTPOptions{Logger: s.config.Logger, MaxRequestBodyBytes: MaxBody,
			SessionTimeout: sessionTimeout})
	eras := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") < stateless {
			if r.Method == http.MethodDelete && r.Header.Get("Mcp-Session-Id") != "" {
				s.endCalls(sessionKey{auth.TokenInfoFromContext(r.Context()).UserID, r.Header.Get("Mcp-Session-Id")})
			}
			if r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" {
				s.openSession(w, r, earlier, with)
				return
			}
			with.ServeHTTP(w, r)
			return
		}
		if checkTaskHeader(w, r) {
			without.ServeHTTP(w, r)
		}
	})
	return s.signedIn(eras), nil
}

// openSession serves a request that may open a session, unless the principal, or all principals
// together, have too many.
func (s *Server) openSession(w http.ResponseWriter, r *http.Request, server *sdk.Server, next http.Handler) {
	principal := auth.TokenInfoFromContext(r.Context()).UserID
	s.mu.Lock()
	open := make(map[string]bool)
	for one := range server.Sessions() {
		open[one.ID()] = true
	}
	own := s.opening[principal]
	for id, of := range s.owners {
		switch {
		case !open[id]:
			delete(s.owners, id)
		case of == principal:
			own++
		}
	}
	switch {
	case own >= maxSessionsEach:
		s.mu.Unlock()
		http.Error(w, "you have too many sessions open: close one", http.StatusTooManyRequests)
		return
	case len(open) >= maxSessions:
		s.mu.Unlock()
		http.Error(w, "too many sessions are open: try again later", http.StatusServiceUnavailable)
		return
	}
	s.opening[principal]++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.opening[principal]--; s.opening[principal] == 0 {
			delete(s.opening, principal)
		}
		if id := w.Header().Get("Mcp-Session-Id"); id != "" {
			s.owners[id] = principal
		}
	}()
	next.ServeHTTP(w, r)
}

// enterHTTP counts a request of the principal, of any kind: a body may arrive slowly, and a stream
// lasts as long as its session. It reports false if there are too many.
func (s *Server) enterHTTP(principal string) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests[principal] >= maxRequestsEach {
		return nil, false
	}
	s.requests[principal]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.requests[principal]--; s.requests[principal] == 0 {
			delete(s.requests, principal)
		}
	}, true
}

// readBody reads the whole body of a request, as the SDK also does, and checks that the body has
// only one meaning. It reports false if it has refused the request.
func readBody(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodPost {
		return true
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err == nil {
		err = reqbody.Check(body, nil)
	} else if errors.As(err, new(*http.MaxBytesError)) {
		http.Error(w, "the body is too large", http.StatusRequestEntityTooLarge)
		return false
	}
	if err != nil {
		http.Error(w, "the body cannot be read, or has two meanings: "+err.Error(), http.StatusBadRequest)
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return true
}

// signedIn identifies the caller of each request. The SDK binds a session to its user by the
// information about a token, so the caller is passed on in this form.
func (s *Server) signedIn(next http.Handler) http.Handler {
	options := &auth.RequireBearerTokenOptions{AllowMissingExpiration: true}
	sameSite := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, body := reqbody.Limit(w, r, bodyTime) // first, so that a refused body does not hold its connection
		refuse := func(status int, text string) {
			body.CloseUnread(w.Header())
			http.Error(w, text, status)
		}
		if sameSite.Check(r) != nil {
			refuse(http.StatusForbidden, "a page of another site may not make this request")
			return
		}
		var actor lifecycle.Actor
		err := front.Guard(func() (err error) {
			actor, err = s.config.Identify(r)
			return err
		})
		if errors.Is(err, front.ErrHost) {
			s.config.Logger.Error("mcp: a caller cannot be identified", "err", err)
			refuse(http.StatusInternalServerError, "the request failed")
			return
		}
		if err != nil || actor.ID == "" {
			s.config.Logger.Info("mcp: refused a request without a known caller", "peer", r.RemoteAddr, "err", err)
			if s.config.Metadata != "" {
				w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+s.config.Metadata+`"`)
			}
			refuse(http.StatusUnauthorized, "sign in first")
			return
		}
		leave, ok := s.enterHTTP(actor.ID)
		if !ok {
			refuse(http.StatusTooManyRequests, "you have too many requests open: wait for one to end")
			return
		}
		defer leave()
		r = r.Clone(r.Context())
		if !readBody(w, r) {
			return
		}
		r.Header.Set("Authorization", "Bearer identified") // whatever the host's own scheme is
		verified := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
			return identity{actor, r.Context()}.token(), nil
		}
		auth.RequireBearerToken(verified, options)(next).ServeHTTP(w, r)
	})
}

// checkTaskHeader compares the header Mcp-Name of methods of tasks with the request, which the SDK
// does for its own methods. It reports false if it has refused the request.
func checkTaskHeader(w http.ResponseWriter, r *http.Request) bool {
	switch method := r.Header.Get("Mcp-Method"); {
	case r.Method != http.MethodPost:
		return true
	case method != "tasks/get" && method != "tasks/update" && method != "tasks/cancel":
		return true // if the body has another method than the header, the SDK refuses it
	}
	body, err := io.ReadAll(r.Body) // already in memory
	if err != nil {
		http.Error(w, "the body cannot be read", http.StatusBadRequest)
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var request struct {
		ID     json.RawMessage `json:"id"`
		Params struct {
			TaskID string `json:"taskId"`
		} `json:"params"`
	}
	if err := reqbody.Unmarshal(body, &request); err != nil { // for example a taskId in two spellings
		http.Error(w, "the body cannot be read, or has two meanings: "+err.Error(), http.StatusBadRequest)
		return false
	}
	if name := r.Header.Get("Mcp-Name"); name != "" && name == request.Params.TaskID {
		return true
	}
	if len(request.ID) == 0 {
		request.ID = json.RawMessage("null")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": request.ID, "error": map[string]any{
		"code": sdk.CodeHeaderMismatch, "message": "the header Mcp-Name does not match params.taskId"}})
	return false
}

// MetadataHandler serves the OAuth protected-resource metadata (RFC 9728) of the resource, which is
// the URL of Handler. Serve it at /.well-known/oauth-protected-resource, and name its address in
// Config.Metadata. The host's own authorization servers issue the tokens that Identify accepts.
func MetadataHandler(resource string, authorizationServers ...string) http.Handler {
	return auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{Resource: resource,
		AuthorizationServers: authorizationServers, BearerMethodsSupported: []string{"header"}})
}
