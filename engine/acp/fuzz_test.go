package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/process"
)

// J10, J11: reading any agent output neither panics nor blocks, and a call ends by its answer or by
// closing the connection.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"id":"1","result":{}}`, `{"id":1.0,"error":"no"}`,
		`{"id":null,"error":{"code":"x"}}`, `{"id":[1]}`,
		`{"jsonrpc":"2.0","id":"f","method":"fs/read_text_file","params":{}}`, `{"method":5,"id":{}}`, `[{"id":1}]`,
		"null\n{\n\n\"", "{\"result\":\"\xff",
		`{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}}`,
		`{"id":7,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t","title":"rm","rawInput":{"a":1}},"options":[{"optionId":"1","name":"2","kind":"allow_once"}]}}`,
		`{"jsonrpc":"2.0","result":"` + string(bytes.Repeat([]byte("x"), 5000)) + `","id":1}`,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed+"\n"+seed), true)
	}
	f.Fuzz(func(t *testing.T, output []byte, sticky bool) {
		a := &agent{wire: newWire(make(chan struct{}), func(string) {}), session: "s"}
		a.lines = process.NewLineReader(bytes.NewReader(output), nil, 4096)
		a.lines.Allow(1 << 20)
		cfg, err := Config{Command: "agent", PermissionWait: 1 << 50}.checked()
		require.NoError(t, err)
		turn := &turn{
			cfg: &cfg, agent: a, parent: t.Context(), in: engine.Turn{ArtifactDir: t.TempDir()},
			sink: &enginetest.Recorder{}, sticky: sticky,
			state: state{Session: "s"}, live: true,
		}
		defer turn.startLimits()()
		a.turn = turn
		called := make(chan error, 1)
		go func() {
			called <- a.call(context.Background(), sdk.AgentMethodSessionPrompt, nil, new(json.RawMessage))
		}()
		<-a.out // the call is made
		for {
			l, err := a.lines.Next()
			if err != nil {
				break
			}
			a.handleLine(l)
		}
		a.handleLine(process.Line{Text: []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)})
		var said *sdk.RequestError
		if err := <-called; err != nil && !errors.As(err, &said) {
			require.True(t, breaksConnection(err), "%v", err)
		}
		require.LessOrEqual(t, len(a.out), maxUnread)
		require.NotNil(t, turn.handle())
	})
}
