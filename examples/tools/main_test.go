package main

import (
	"context"
	"os"
	"os/exec"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/lifecycle/rehearsal"
)

// asProgram makes this test program run the example.
const asProgram = "INTERLUDE_TOOLS"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// P4: a client starts the program, and its user confirms.
func TestP4AClientConfirmsTheRelease(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env, cmd.Dir, cmd.Stderr = append(os.Environ(), asProgram+"=1"), t.TempDir(), os.Stderr
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			require.Equal(t, "Release 2.0?", r.Params.Message)
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "yes"}}, nil
		}})
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	require.NoError(t, err)
	r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "release",
		Arguments: map[string]any{"version": "2.0"}})
	require.NoError(t, err)
	require.Equal(t, "released 2.0", r.Content[0].(*sdk.TextContent).Text)
	require.NoError(t, session.Close())
}

// N1: a no is not taken for a yes.
func TestN1ANoIsNoYes(t *testing.T) {
	for text, want := range map[string]string{"yes": "released 2.0", "no": "not released"} {
		run := rehearsal.Play(t, rehearsal.Case{Config: lifecycle.Config{Engine: flow.New("release", release)},
			Spec: lifecycle.Spec{Input: []byte(`{"version":"2.0"}`)}, Reply: rehearsal.Says(text)})
		require.Equal(t, want, run.FinalText)
	}
}
