package mcp_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/host/mcp"
	"github.com/interlude-go/interlude/lifecycle"
)

// P5: whatever a client sends, the answer is JSON-RPC or a plain refusal, and another person's run
// is neither shown nor changed.
func FuzzRequests(f *testing.F) {
	const secret = "the prompt of bob"
	client := host(f, asker)
	foreign := front.NewRunID("bob", "mcp")
	_, err := client.Submit(f.Context(), lifecycle.Spec{ID: foreign, Prompt: secret, Title: secret})
	require.NoError(f, err)
	for e, err := range client.Events(f.Context(), foreign, 0) {
		require.NoError(f, err)
		if e.Type == lifecycle.TypeInputRequired {
			break
		}
	}
	before, err := client.Get(f.Context(), foreign)
	require.NoError(f, err)
	server, err := mcp.New(mcp.Config{Client: client, Identify: identify, Hold: time.Millisecond,
		Tools: []mcp.Tool{promptTool(mcp.Task)}, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(f, err)
	handler, err := server.Handler()
	require.NoError(f, err)
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	f.Add("tools/call", "start", `{"name":"start","arguments":{"prompt":"Go."},`+meta+`}`)
	f.Add("tools/call", "wait", `{"name":"wait","arguments":{"run_id":"FOREIGN"},"requestState":"e30",`+meta+`}`)
	f.Add("tasks/get", "FOREIGN", `{"taskId":"FOREIGN",`+meta+`}`)
	f.Add("tasks/update", "FOREIGN", `{"taskId":"FOREIGN","inputResponses":{"1":{"action":"accept",`+
		`"content":{}}},`+meta+`}`)
	f.Add("tasks/cancel", "FOREIGN", `{"taskId":"FOREIGN",`+meta+`}`)
	f.Fuzz(func(t *testing.T, method, name, params string) {
		fill := strings.NewReplacer("FOREIGN", foreign)
		quoted, err := json.Marshal(method)
		require.NoError(t, err)
		body := `{"jsonrpc":"2.0","id":1,"method":` + string(quoted) + `,"params":` + fill.Replace(params) + `}`
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Mcp-Protocol-Version": {newest}, "Mcp-Method": {method}, "Mcp-Name": {fill.Replace(name)},
			"Authorization": {"Bearer ada"}}
		if strings.HasPrefix(method, "subscriptions/") {
			return // it stays open
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code >= http.StatusInternalServerError || strings.Contains(w.Body.String(), secret) {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		after, err := client.Get(t.Context(), foreign)
		require.NoError(t, err)
		require.Equal(t, before.Version, after.Version)
	})
}
