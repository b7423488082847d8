package modeltest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/modeltest"
)

// The server answers any request with JSON or events, and never panics.
func FuzzRequests(f *testing.F) {
	paths := []string{"/v1/responses", "/v1/chat/completions", "/v1/messages", "/v1beta/models/x:streamGenerateContent",
		"/v1beta/models/x:generateContent"}
	for at := range paths {
		for _, body := range []string{
			`{"model":"m","stream":true,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":":: final x"}]},{"type":"function_call_output","output":[{"text":"y"}]}],"tools":[{"type":"namespace","tools":[{"type":"function","name":"shell","parameters":{"properties":{"command":{}}}}]}]}`,
			`{"messages":[{"role":"user","content":"<a>b</a>"},{"role":"user","content":[{"type":"text","text":":: say x\n:: tool y"}]},{"role":"tool","content":null}],"tools":[{"function":{"name":"bash"}}],"response_format":{"type":"json_object"}}`,
			`{"system":[{"text":"s"}],"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"text":"t"}]},{"type":"text","text":":: write a b"}]}],"output_config":{"format":{"schema":{"anyOf":[{"enum":[1]}]}}}}`,
			`{"contents":[{"role":"user","parts":[{"text":":: output {}"},{"functionResponse":{"response":{"output":1}}}]}],"generationConfig":{"responseJsonSchema":{"type":["OBJECT"],"required":["a"]}}}`,
			`{"input":":: slow 3\n:: ask \"\\xff\"","tools":[{"type":"custom","name":"exec"}]}`,
			`[]`, `null`, `{"messages":{"role":7}}`,
		} {
			f.Add(byte(at), body)
		}
	}
	s := modeltest.New(modeltest.Config{Pause: 1, Answer: func(c modeltest.Conversation) modeltest.Answer {
		a := modeltest.ByScript(c, 1)
		a.End = modeltest.Complete // a hanging answer would block the test
		for i := range a.Pieces {
			a.Pieces[i].Before = nil // so would a piece that waits for a file
		}
		return a
	}})
	f.Fuzz(func(t *testing.T, at byte, body string) {
		if strings.Contains(body, "slow") && len(body) > 200 || strings.Contains(body, "flood") {
			return // these steps make a long answer on purpose
		}
		path := paths[int(at)%len(paths)]
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
		require.NotZero(t, w.Body.Len())
		if w.Header().Get("Content-Type") == "application/json" && !strings.Contains(body, "raw") {
			require.True(t, json.Valid(w.Body.Bytes()), "%s", w.Body)
		}
	})
}
