package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// firstOption is a person who selects the first option of each dialog.
func firstOption(asked *[]string) func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	return func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		*asked = append(*asked, r.Params.Message)
		raw, err := json.Marshal(r.Params.RequestedSchema)
		if err != nil {
			return nil, err
		}
		var form struct {
			Properties struct {
				Answer struct {
					OneOf []struct{ Const string }
				}
			}
		}
		err = json.Unmarshal(raw, &form)
		return &sdk.ElicitResult{Action: "accept",
			Content: map[string]any{"answer": form.Properties.Answer.OneOf[0].Const}}, err
	}
}

// P4: the client of one person starts the program, with the arguments of docs/protocols.md, and its
// dialogs answer the demo agent.
func TestP4AnMCPClientStartsTheProgram(t *testing.T) {
	dir := t.TempDir()
	page, err := os.ReadFile("../../docs/protocols.md")
	require.NoError(t, err)
	_, shown, _ := strings.Cut(string(page), "```json\n")
	var settings struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
		}
	}
	require.NoError(t, json.NewDecoder(strings.NewReader(shown)).Decode(&settings))
	server := settings.MCPServers["interlude"]
	require.Equal(t, "interlude", server.Command)
	for i, arg := range server.Args {
		server.Args[i] = strings.Replace(arg, "/home/ada", dir, 1)
	}
	cmd := calling(t, server.Args...)
	cmd.Env = append(cmd.Env, "USER=ada")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	var asked []string
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"},
		&sdk.ClientOptions{ElicitationHandler: firstOption(&asked)})
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	require.NoError(t, err)
	r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "run",
		Arguments: map[string]any{"prompt": "Say hello."}})
	require.NoError(t, err)
	require.False(t, r.IsError)
	require.Len(t, asked, 2)
	require.Contains(t, asked[0], "How shall it sound?")
	require.NoError(t, session.Close())
	show := calling(t, "runs", "-db", filepath.Join(dir, "runs.db"))
	printed, err := show.CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(printed), "succeeded")
}

// P4: serve has the tools of its file at /mcp, behind its sign-in.
func TestP4ServeHasTools(t *testing.T) {
	said, stop := serveFile(t, `{"listen": "127.0.0.1:0", "agents": {"d": {"agent": "demo"}},
		"mcp": [{"name": "greet", "description": "Says hello.", "ask": {"not_submitter": true}}],
		"sign_in": {"tokens": [{"user": "ada", "sha256": "`+hashOf("open")+`"}]}}`)
	defer stop()
	list := func(token string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			strings.Replace(said.Page, "/interlude/", "/mcp", 1), strings.NewReader(
				`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{`+
					`"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
					`"io.modelcontextprotocol/clientCapabilities":{}}}}`))
		require.NoError(t, err)
		r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + token},
			"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2026-07-28"},
			"Mcp-Method": {"tools/list"}}
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(body)
	}
	status, _ := list("guess")
	require.Equal(t, http.StatusUnauthorized, status)
	status, body := list("open")
	require.Equal(t, http.StatusOK, status)
	require.True(t, strings.Contains(body, `"greet"`) && strings.Contains(body, `"wait"`), body)
}

// P4: serve has the chat of its file at /chat and /agui, behind its sign-in.
func TestP4ServeHasAChat(t *testing.T) {
	said, stop := serveFile(t, `{"listen": "127.0.0.1:0", "agents": {"d": {"agent": "demo"}}, "chat": {"title": "Demo"},
		"sign_in": {"tokens": [{"user": "ada", "sha256": "`+hashOf("open")+`"}]}}`)
	defer stop()
	post := func(token, path, body string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			strings.Replace(said.Page, "/interlude/", path, 1), strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		all, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(all)
	}
	const hello = `{"id":"c","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"Hello"}]}]}`
	status, _ := post("guess", "/chat", hello)
	require.Equal(t, http.StatusUnauthorized, status)
	status, body := post("open", "/chat", hello)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `"toolName":"ask_user"`)
	_, body = post("open", "/agui", `{"threadId":"c","runId":"r","messages":[]}`)
	require.Contains(t, body, `"reason":"input_required"`)
}

// P5, L1: without a sign-in, MCP clients must be on this machine, as on the page.
func TestP5OnlyThisMachineIsServedWithoutASignIn(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"":                    func(*http.Request) {},
		"nginx's default":     func(r *http.Request) { r.ProtoMajor, r.ProtoMinor = 1, 0 },
		"a proxy's header":    func(r *http.Request) { r.Header.Set("X-Envoy-External-Address", "192.0.2.1") },
		"another machine":     func(r *http.Request) { r.RemoteAddr = "192.0.2.1:4000" },
		"another site's name": func(r *http.Request) { r.Host = "example.com" },
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:8080/mcp", nil)
		r.RemoteAddr = "127.0.0.1:4000"
		change(r)
		actor, err := new(hostFile).identifyCaller(r, "mcp")
		require.Equal(t, name == "", err == nil, name)
		require.Equal(t, name == "", actor.ID == "local", name)
	}
}
