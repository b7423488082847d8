package modeltest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/enginetest/script"
	"github.com/interlude-go/interlude/engine/internal/modelagent"
	"github.com/interlude-go/interlude/engine/modeltest"
)

func chatting(s *modeltest.Server, texts ...string) modelagent.Question {
	return modelagent.Question{API: modeltest.Chat, URL: s.URL, Stream: true, Session: userTexts(texts...)}
}

func TestHangingAnswerEndsWithItsRequest(t *testing.T) {
	s := started(t, modeltest.Config{})
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := modelagent.Ask(ctx, chatting(s, ":: final half a\n:: hang"))
		gone <- err
	}()
	require.NoError(t, s.Await(t.Context(), func(all []modeltest.Request) bool {
		return len(all) == 1 && all[0].Plan == "text, hang"
	}))
	require.False(t, s.Requests()[0].Left)
	leave()
	require.ErrorIs(t, <-gone, context.Canceled)
	require.NoError(t, s.Await(t.Context(), func(all []modeltest.Request) bool { return all[0].Left }))
	require.False(t, s.Requests()[0].Ended)
}

func TestCloseEndsHangingAnswers(t *testing.T) {
	s, err := modeltest.Start(modeltest.Config{})
	require.NoError(t, err)
	gone := make(chan error, 1)
	go func() {
		_, err := modelagent.Ask(t.Context(), chatting(s, ":: hang"))
		gone <- err
	}()
	require.NoError(t, s.Await(t.Context(), func(all []modeltest.Request) bool { return len(all) == 1 }))
	require.NoError(t, s.Close())
	require.Error(t, <-gone)
	require.NoError(t, s.Close(), "closing again does nothing")
	_, err = modelagent.Ask(t.Context(), chatting(s, ":: final too late"))
	require.Error(t, err)
}

// The model runs on the test's machine, so a test and a turn can wait for each other by files,
// without a tool of the agent.
func TestTouchAndAwaitSteps(t *testing.T) {
	s, dir := started(t, modeltest.Config{}), t.TempDir()
	answers := make(chan modelagent.Answer, 1)
	go func() {
		a, _ := modelagent.Ask(t.Context(), chatting(s, script.Script("in "+dir, "touch begun", "await go",
			"final gone")))
		answers <- a
	}()
	require.NoError(t, s.Await(t.Context(), func(all []modeltest.Request) bool { return len(all) == 1 }))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	require.Equal(t, "gone", (<-answers).Text)
	require.FileExists(t, filepath.Join(dir, "begun"))

	for _, steps := range [][]string{{"touch homeless"}, {"in relative", "touch homeless"},
		{"in " + filepath.Join(dir, "missing"), "touch homeless"}} {
		_, err := modelagent.Ask(t.Context(), chatting(s, script.Script(steps...)))
		require.Error(t, err)
		all := s.Requests()
		require.NotEmpty(t, all[len(all)-1].Error, "the log says what is wrong with the script")
	}
	_, err := modelagent.Ask(t.Context(), chatting(s, script.Script("in "+dir, "touch ../../escaped", "final ok")))
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(dir, "escaped"), "names stay in the folder")
}

func TestConfigAnswerReplacesTheScript(t *testing.T) {
	s := started(t, modeltest.Config{Answer: func(c modeltest.Conversation) modeltest.Answer {
		switch turn := len(c.Users()); turn {
		case 1, 2:
			return modeltest.Text(script.Ask(fmt.Sprintf("Question %d?", turn)))
		default:
			return modeltest.Text("You said " + c.Last() + " to " + c.Said()[len(c.Said())-1] + "\n" +
				script.DoneMarker + "\n")
		}
	}})
	q := chatting(s, "Do it.")
	for _, reply := range []string{"red", "blue"} {
		q.Session = append(q.Session, modelagent.Entry{Role: modeltest.Assistant, Text: asked(t, q, q.Session...).Text})
		q.Session = append(q.Session, userTexts(reply)...)
	}
	require.Equal(t, "You said blue to "+script.Ask("Question 2?")+"\n__SKILL_DONE__\n", asked(t, q, q.Session...).Text)
}

func TestLogHasEachRequest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log.jsonl")
	s := started(t, modeltest.Config{Log: file})
	none, err := modeltest.ReadLog(file)
	require.NoError(t, err, "a log without a request is empty")
	require.Empty(t, none)

	asked(t, chatting(s, ""), userTexts("<environment_context>not the user's</environment_context>", "one",
		":: final ok")...)
	call := modelagent.Entry{Role: modeltest.ToolCall, Text: "echo x", ID: "c1"}
	asked(t, chatting(s, ""), append(userTexts(":: tool echo x"), call, modelagent.Entry{Role: modeltest.ToolResult,
		Text: "x", ID: "c1"})...)
	want := []modeltest.Request{
		{
			N: 1, Method: "POST", Path: "/v1/chat/completions", UserAgent: "modelagent", API: modeltest.Chat,
			Model: "tiny", Tools: []string{"exec_command"},
			Users: []string{"one", ":: final ok"}, LastUser: ":: final ok", Results: []string{}, Plan: "text",
			Ended: true,
		},
		{
			N: 2, Method: "POST", Path: "/v1/chat/completions", UserAgent: "modelagent", API: modeltest.Chat,
			Model: "tiny", Tools: []string{"exec_command"},
			Users: []string{":: tool echo x"}, LastUser: ":: tool echo x", Results: []string{"x"}, Plan: "text",
			Ended: true,
		},
	}
	require.NoError(t, s.Await(t.Context(), func(all []modeltest.Request) bool {
		return len(all) == 2 && all[1].Ended
	}))
	got := s.Requests()
	for i := range got {
		require.Positive(t, got[i].Bytes)
		want[i].Bytes = got[i].Bytes
	}
	require.Equal(t, want, got)

	torn, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = torn.WriteString(`{"n":3,"met`)
	require.NoError(t, err)
	require.NoError(t, torn.Close())
	read, err := modeltest.ReadLog(file)
	require.NoError(t, err, "a line that is being written is passed over")
	want[0].Results = nil
	require.Equal(t, want, read)
}

func TestUnwritableLogIsAnError(t *testing.T) {
	s := started(t, modeltest.Config{Log: filepath.Join(t.TempDir(), "missing", "log.jsonl")})
	q := chatting(s, ":: final ok")
	_, err := modelagent.Ask(t.Context(), q)
	require.ErrorContains(t, err, "log")
	resp, err := http.Get(s.URL + "/v1/models")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusInternalServerError, resp.StatusCode)
}

func TestAwaitRequestEndsWithItsContext(t *testing.T) {
	s := started(t, modeltest.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Await(ctx, func([]modeltest.Request) bool { return false }), context.Canceled)
}

func TestServerListensOnLoopbackOnly(t *testing.T) {
	s := modeltest.New(modeltest.Config{})
	require.ErrorContains(t, s.Listen("0.0.0.0:0"), "loopback")
	require.Error(t, s.Listen("nowhere at all"))
	require.NoError(t, s.Close())
	listening := started(t, modeltest.Config{})
	require.ErrorContains(t, listening.Listen("127.0.0.1:0"), "already")
}

func TestOtherEndpointsAreAnswered(t *testing.T) {
	s := modeltest.New(modeltest.Config{Model: "mine"})
	do := func(method, path, body string) (int, map[string]any) {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		var got map[string]any
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		return w.Code, got
	}
	status, got := do("GET", "/v1/models", "")
	require.Equal(t, 200, status)
	require.Contains(t, fmt.Sprint(got), "mine")
	_, got = do("POST", "/v1/messages/count_tokens", "{}")
	require.Contains(t, got, "input_tokens")
	_, got = do("POST", "/v1beta/models/x:countTokens", "{}")
	require.Contains(t, got, "totalTokens")
	status, _ = do("HEAD", "/", "")
	require.Equal(t, 200, status)
	status, got = do("GET", "/nothing", "")
	require.Equal(t, 404, status)
	require.Contains(t, fmt.Sprint(got), "/nothing")
	status, got = do("POST", "/v1/responses", "{")
	require.Equal(t, 400, status)
	require.Contains(t, fmt.Sprint(got), "JSON")
}

func TestTooLargeRequestIsRefused(t *testing.T) {
	s := modeltest.New(modeltest.Config{})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/responses", io.LimitReader(endless{}, 65<<20)))
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
