package eino_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/checkpoint"
	"github.com/interlude-go/interlude/engine/eino"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/interaction"
)

// unreadable stores a session like the parked one, but with a broken Eino checkpoint, and returns
// its handle.
func unreadable(t *testing.T, s *enginetest.Talk) *engine.SessionHandle {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(s.Turn.HomeDir, "checkpoints", "r1", "*"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	body, err := os.ReadFile(found[0])
	require.NoError(t, err)
	var kept map[string]any
	require.NoError(t, json.Unmarshal(body, &kept))
	kept["checkpoints"] = map[string][]byte{"interlude": []byte(`{"type":"nobody knows"}`)}
	body, err = json.Marshal(kept)
	require.NoError(t, err)
	h, err := checkpoint.Sessions{Engine: "eino", Version: "1", Revision: "1"}.Save(t.Context(), s.Turn, body)
	require.NoError(t, err)
	return &h
}

type sum struct{ EUR int }

// Ask asks for it.
func (s sum) Ask() interaction.Question {
	return interaction.Question{Kind: interaction.RiskAck, Prompt: fmt.Sprintf("Pay %d EUR?", s.EUR)}
}

func TestAskMakesAQuestionOfAnInterrupt(t *testing.T) {
	q := interaction.Question{Kind: interaction.Confirm, Prompt: "Pay?"}
	for _, c := range []struct {
		info any
		want string
	}{
		{q, "confirm Pay?"},
		{&q, "confirm Pay?"},
		{sum{5}, "risk_ack Pay 5 EUR?"},
		{"Which one?", "open_text Which one?"},
		{errors.New("no paper"), "open_text no paper"},
		{struct{ Sum int }{5}, `open_text {"Sum":5}`},
		{map[any]any{"a": 1}, "open_text map[a:1]"},
		{nil, "open_text " + interaction.Baseline("").Prompt},
		{(*interaction.Question)(nil), "open_text null"},
	} {
		got := eino.Ask(eino.Interrupt{Info: c.info, Address: "node:a"})
		require.Equal(t, c.want, string(got.Kind)+" "+got.Prompt)
	}
}

func TestDefaultInputAndOutputFollowTheGraphsTypes(t *testing.T) {
	start := eino.Start{Text: "now", Past: []*schema.Message{schema.UserMessage("then"), schema.AssistantMessage("yes",
		nil)}}
	text, err := eino.DefaultInput[string](start)
	require.NoError(t, err)
	require.Equal(t, "now", text)
	message, err := eino.DefaultInput[*schema.Message](start)
	require.NoError(t, err)
	require.Equal(t, "now", message.Content)
	messages, err := eino.DefaultInput[[]*schema.Message](start)
	require.NoError(t, err)
	require.Len(t, messages, 3)
	require.Equal(t, "now", messages[2].Content)
	variables, err := eino.DefaultInput[map[string]any](start)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"input": "now", "history": start.Past}, variables)
	_, err = eino.New[sum, string](nil, eino.GraphConfig[sum, string]{})
	require.ErrorContains(t, err, "nil")
	_, err = eino.DefaultInput[sum](start)
	require.ErrorContains(t, err, "GraphConfig.Input")

	for _, c := range []struct {
		out  any
		want eino.Result
	}{
		{"text", eino.Result{Text: "text"}},
		{schema.AssistantMessage("text", nil), eino.Result{Text: "text"}},
		{(*schema.Message)(nil), eino.Result{}},
		{sum{5}, eino.Result{Output: json.RawMessage(`{"EUR":5}`)}},
		{[]int{1}, eino.Result{Text: "[1]"}},
		{nil, eino.Result{}},
	} {
		got, err := eino.DefaultOutput(c.out)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	_, err = eino.DefaultOutput(func() {})
	require.ErrorContains(t, err, "GraphConfig.Output")
}

// K4: a question shows hidden characters; its hidden parts are counted and in an artifact.
func TestAskShowsInvisibleCharacters(t *testing.T) {
	asked := func(artifacts, text string) (engine.Outcome, error) {
		g := compose.NewGraph[string, string]()
		require.NoError(t, g.AddLambdaNode("ask", compose.InvokableLambda(func(ctx context.Context, _ string) (string,
			error) {
			return "", compose.Interrupt(ctx, text)
		})))
		require.NoError(t, g.AddEdge(compose.START, "ask"))
		require.NoError(t, g.AddEdge("ask", compose.END))
		e, err := eino.Compile(t.Context(), g, eino.GraphConfig[string, string]{})
		require.NoError(t, err)
		s := enginetest.NewTalk(t, e)
		s.Turn.ArtifactDir = artifacts
		return e.RunTurn(t.Context(), s.Next("go"), s)
	}
	o, err := asked("", "ls"+strings.Repeat(" ", 4000)+"\u202e; rm -rf /")
	require.NoError(t, err)
	require.Equal(t, `ls[4000 white-space characters]\u{202E}; rm -rf /`, o.Questions[0].Prompt)

	large := strings.Repeat("x", 50<<10) + "; rm -rf /" + strings.Repeat("y", 50<<10)
	_, err = asked("", large)
	require.ErrorContains(t, err, "cannot be shown completely")
	dir := t.TempDir()
	o, err = asked(dir, large)
	require.NoError(t, err)
	require.Contains(t, o.Questions[0].Prompt, "more bytes are not shown")
	files, err := filepath.Glob(filepath.Join(dir, "question-1-*.txt"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.Contains(t, o.Questions[0].Context, filepath.Base(files[0]))
	body, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.Contains(t, string(body), "; rm -rf /")
}
