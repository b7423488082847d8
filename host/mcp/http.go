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

	"github.com/interlude-go/interlude/host/reqbody"
)

const bodyTime = time.Minute

const maxSessions = 1000

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
			if r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" && full(earlier) {
				http.Error(w, "too many sessions are open: close one, or try again later",
					http.StatusServiceUnavailable)
				return
			}
			with.ServeHTTP(w, r)
			return
		}
		if checkTaskHeader(w, r) {
			without.ServeHTTP(w, r)
		}
	})
	return http.NewCrossOriginProtection().Handler(s.signedIn(eras)), nil
}

func full(server *sdk.Server) bool {
	n := 0
	for range server.Sessions() {
		n++
	}
	return n >= maxSessions
}

// signedIn identifies the caller of each request. The SDK binds a session to its user by the
// information about a token, so the caller is passed on in this form.
func (s *Server) signedIn(next http.Handler) http.Handler {
	options := &auth.RequireBearerTokenOptions{AllowMissingExpiration: true}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, body := reqbody.Limit(w, r, bodyTime)
		actor, err := s.config.Identify(r)
		if err != nil || actor.ID == "" {
			s.config.Logger.Info("mcp: refused a request without a known caller", "peer", r.RemoteAddr, "err", err)
			if s.config.Metadata != "" {
				w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+s.config.Metadata+`"`)
			}
			body.CloseUnread(w.Header())
			http.Error(w, "sign in first", http.StatusUnauthorized)
			return
		}
		r = r.Clone(r.Context())
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
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		status := http.StatusBadRequest
		if errors.As(err, new(*http.MaxBytesError)) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, "the body cannot be read", status)
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var request struct {
		ID     json.RawMessage `json:"id"`
		Params struct {
			TaskID string `json:"taskId"`
		} `json:"params"`
	}
	if json.Unmarshal(body, &request) != nil {
		return true // the SDK reports it
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
