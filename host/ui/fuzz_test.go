package ui_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/ui"
	"github.com/interlude-go/interlude/lifecycle"
)

// P5: whatever a client sends, the answer is a stream of JSON or a plain refusal, and another person's
// run is neither shown nor changed.
func FuzzRequests(f *testing.F) {
	const secret = "the prompt of bob"
	client := host(f, asker)
	s := newServer(f, client, func(c *ui.Config) { c.Hold = time.Millisecond })
	said := strings.Replace(hello, "Hello?", secret, 1)
	shown := ask(f, s.Chat(), "bob", http.MethodPost, "/chat", said).Body.String()
	foreign := between(shown, `"toolCallId":"`, `"`)
	run := strings.Split(foreign, ".")[0]
	before, err := client.Get(f.Context(), run)
	require.NoError(f, err)
	f.Add(true, hello)
	f.Add(false, helloThere)
	f.Add(true, `{"id":"c","messageId":"a","messages":[{"id":"a","role":"assistant","metadata":{"interlude":{"run":"RUN",`+
		`"last_event":3}},"parts":[{"type":"tool-ask_user","toolCallId":"FOREIGN","state":"output-available",`+
		`"output":"mine"},{"type":"dynamic-tool","toolCallId":"FOREIGN","state":"approval-responded",`+
		`"approval":{"id":"FOREIGN","approved":true}}]}]}`)
	f.Add(false, `{"threadId":"c","runId":"r","state":{"run":"RUN","last_event":9},"resume":[{"interruptId":"FOREIGN",`+
		`"status":"resolved","payload":{"approved":true}}],"messages":[{"id":"m","role":"assistant",`+
		`"toolCalls":[{"id":"FOREIGN"}]}]}`)
	f.Fuzz(func(t *testing.T, chat bool, body string) {
		handler := s.AGUI()
		if chat {
			handler = s.Chat()
		}
		sent := strings.NewReplacer("FOREIGN", foreign, "RUN", run).Replace(body)
		w := ask(t, handler, "ada", http.MethodPost, "/", sent)
		if w.Code >= http.StatusInternalServerError || strings.Contains(w.Body.String(), secret) &&
			!strings.Contains(body, secret) {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		for line := range strings.Lines(w.Body.String()) {
			if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && data != "[DONE]" {
				require.True(t, json.Valid([]byte(data)), data)
			}
		}
		after, err := client.Get(t.Context(), run)
		require.NoError(t, err)
		require.Equal(t, before.Version, after.Version)
	})
}

// P5: the name of a chat in a path is decoded once.
func FuzzPaths(f *testing.F) {
	s := newServer(f, host(f, asker), nil)
	for _, path := range []string{"/chat/c/stream", "/stream", "//stream",
		"/%2e%2e/stream", "/a%2Fb/stream/", "/%zz/stream"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		at, err := url.ParseRequestURI(path)
		if err != nil {
			return
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer ada")
		r.URL = at
		w := httptest.NewRecorder()
		s.Chat().ServeHTTP(w, r)
		require.Contains(t, []int{http.StatusNoContent, http.StatusNotFound}, w.Code, path)
	})
}

// P5: an answer is read or refused, and never for another question.
func FuzzAnswers(f *testing.F) {
	client := host(f, asker)
	s := newServer(f, client, nil)
	n := 0
	f.Add("yes")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		n++
		chat, err := json.Marshal(strings.Repeat("x", n%200+1) + text[:min(len(text), 20)])
		require.NoError(t, err)
		body := ask(t, s.AGUI(), "ada", http.MethodPost, "/", strings.Replace(helloThere, `"c"`, string(chat), 1)).Body.String()
		id := between(body, `"interrupts":[{"id":"`, `"`)
		if id == "" {
			return // the chat has ended
		}
		payload, err := json.Marshal(text)
		require.NoError(t, err)
		body = ask(t, s.AGUI(), "ada", http.MethodPost, "/", `{"threadId":`+string(chat)+`,"runId":"r","resume":[{`+
			`"interruptId":"`+id+`","status":"resolved","payload":`+string(payload)+`}]}`).Body.String()
		record, err := client.Question(t.Context(), strings.Split(id, ".")[0], 1)
		require.NoError(t, err)
		if record.Resolution == lifecycle.UserReply {
			var said string
			require.NoError(t, json.Unmarshal(payload, &said))
			require.Equal(t, said, record.Response)
		} else {
			require.Contains(t, body, "INVALID_REPLY")
		}
	})
}
